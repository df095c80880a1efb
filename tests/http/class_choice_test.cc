// The class of a request: by header, tier, tenant and model, never above the tenant's highest.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "router/fleet/tenants.h"

namespace penstock {
namespace {

std::vector<ClassConfig> Classes() {
  std::vector<ClassConfig> classes(3);
  classes[0].name = "interactive";
  classes[1].name = "standard";
  classes[1].is_default = true;
  classes[2].name = "background";
  return classes;
}

std::string ClassOf(absl::string_view header, absl::string_view tier, absl::string_view max) {
  const auto chosen = ChooseClass(Classes(), {header, tier, "", ""}, max);
  return std::holds_alternative<ClassChoice>(chosen) ? std::get<ClassChoice>(chosen).name : "error";
}

TEST(Classes, HeaderTierAndDefault) {
  EXPECT_EQ(ClassOf("", "", ""), "standard");
  EXPECT_EQ(ClassOf("", "priority", ""), "interactive");
  EXPECT_EQ(ClassOf("", "flex", ""), "background");
  EXPECT_EQ(ClassOf("", "auto", ""), "standard");
  EXPECT_EQ(ClassOf("interactive", "flex", ""), "interactive");
  EXPECT_EQ(ClassOf("nonsense", "", ""), "error");
}

TEST(Classes, ATierMayNameAClassOfTheConfiguration) {
  EXPECT_EQ(ClassOf("", "default", ""), "standard");
  EXPECT_EQ(ClassOf("", "background", ""), "background");
  EXPECT_EQ(ClassOf("", "scale", ""), "standard") << "an unknown tier of OpenAI decides nothing";
}

TEST(Classes, WithoutAWordOfTheClientTheTenantDecidesThenTheModel) {
  const auto named = [](const ClassNames& names, absl::string_view max = "") {
    return std::get<ClassChoice>(ChooseClass(Classes(), names, max)).name;
  };
  EXPECT_EQ(named({"", "", "background", "interactive"}), "background");
  EXPECT_EQ(named({"", "", "", "interactive"}), "interactive");
  EXPECT_EQ(named({"", "auto", "background", ""}), "background") << "auto leaves it to the configuration";
  EXPECT_EQ(named({"", "default", "background", ""}), "standard");
  EXPECT_EQ(named({"interactive", "", "background", ""}), "interactive");
  EXPECT_EQ(named({"", "", "", "interactive"}, "standard"), "standard") << "clamped";
}

TEST(Classes, AModelHasItsClassUnderEachOfItsNames) {
  Config config;
  config.models.resize(2);
  config.models[0].name = "chat";
  config.models[1].name = "embed";
  config.models[1].aliases = {"small-embed"};
  config.models[1].service_class = "background";
  EXPECT_EQ(ClassOfModel(config, "embed"), "background");
  EXPECT_EQ(ClassOfModel(config, "small-embed"), "background");
  EXPECT_EQ(ClassOfModel(config, "chat"), "");
  EXPECT_EQ(ClassOfModel(config, "other"), "");
}

TEST(Classes, NeverAboveTheTenantsHighest) {
  EXPECT_EQ(ClassOf("interactive", "", "standard"), "standard");
  EXPECT_EQ(ClassOf("background", "", "standard"), "background");
}

}  // namespace
}  // namespace penstock
