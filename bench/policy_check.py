"""Where the reduced form of bench/policies.py does not show Penstock ahead."""


def findings(all_data, shipping):
    """The findings of the reduced form: it expects Penstock ahead of every shipping policy above the knee, and close to the informed yardstick."""
    found = []
    for scenario, data in all_data:
        for window, measured in data.items():
            for load, own in measured["rows"]["penstock"].items():
                yardstick = measured["rows"]["informed"][load]
                least = 0.95 if load <= 1.25 else 0.9
                if own["active"] < least * yardstick["active"]:
                    found.append(f"{scenario.name} at {load}x: {own['active']:.0f} of {yardstick['active']:.0f} active tokens/s")
                for row, by_load in measured["rows"].items():
                    if row in shipping and load > 1 and own["goodput"] < by_load[load]["goodput"]:
                        found.append(f"{scenario.name} at {load}x: behind {row}")
                    if row in shipping and own["on_time"] < by_load[load]["on_time"] - 0.002:
                        found.append(f"{scenario.name} at {load}x: fewer on time than {row}")
    return found
