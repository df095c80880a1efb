// The last step of reading a section: defaults and rules that need several of its keys.
//
// CheckSection(section, map, draft) runs once after all keys of the section were read. It may fill in defaults. A
// broken rule becomes a finding at the place of its key.
#ifndef PENSTOCK_CONFIG_READ_SECTION_CHECKS_H_
#define PENSTOCK_CONFIG_READ_SECTION_CHECKS_H_

#include "config/keys/shape_keys.h"
#include "config/read/draft.h"
#include "config/read/map_reader.h"
#include "config/values/config_values.h"

namespace penstock {

// Most sections have no such rule.
template <class Section>
void CheckSection(Section&, const MapReader&, Draft&) {}

void CheckSection(Config& config, const MapReader& map, Draft& draft);
void CheckSection(GpuConfig& gpu, const MapReader& map, Draft& draft);
void CheckSection(ModelConfig& model, const MapReader& map, Draft& draft);
void CheckSection(ReplicaConfig& replica, const MapReader& map, Draft& draft);
void CheckSection(ReplicaSleepConfig& sleep, const MapReader& map, Draft& draft);
void CheckSection(SimulatedConfig& simulated, const MapReader& map, Draft& draft);
void CheckSection(LayerGroup& group, const MapReader& map, Draft& draft);
void CheckSection(ShapeNumbers& shape, const MapReader& map, Draft& draft);
void CheckSection(ListenTlsConfig& tls, const MapReader& map, Draft& draft);
void CheckSection(EngineTlsConfig& tls, const MapReader& map, Draft& draft);
void CheckSection(RouteConfig& route, const MapReader& map, Draft& draft);
void CheckSection(CorsConfig& cors, const MapReader& map, Draft& draft);
void CheckSection(NodeRuleConfig& rule, const MapReader& map, Draft& draft);
void CheckSection(ExporterConfig& exporter, const MapReader& map, Draft& draft);
void CheckSection(NodeConfig& node, const MapReader& map, Draft& draft);

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_READ_SECTION_CHECKS_H_
