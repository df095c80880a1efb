// The names that enumerated keys can have, in the order of their enumerations.
#ifndef PENSTOCK_CONFIG_KEYS_NAMES_H_
#define PENSTOCK_CONFIG_KEYS_NAMES_H_

#include <array>

#include "absl/strings/string_view.h"

namespace penstock {

inline constexpr std::array<absl::string_view, 7> kEngineNames = {"auto", "vllm",   "sglang", "llamacpp",
                                                                  "tgi",  "ollama", "openai"};
inline constexpr std::array<absl::string_view, 10> kCacheDtypeNames = {"bf16", "fp16", "fp8",  "fp32", "q8_0",
                                                                       "q4_0", "q5_0", "q5_1", "q4_1", "fp8_ds_mla"};
inline constexpr std::array<absl::string_view, 2> kSharingNames = {"time_slicing", "mps"};
// In the order of ElasticMode.
inline constexpr std::array<absl::string_view, 2> kElasticNames = {"read", "manage"};
// False, true of SimulatedConfig::overflow_error.
inline constexpr std::array<absl::string_view, 2> kOverflowNames = {"preempt", "error"};
inline constexpr std::array<absl::string_view, 3> kLayerKindNames = {"attention", "latent", "recurrent"};

// In the order of ReplicaRole.
inline constexpr std::array<absl::string_view, 3> kRoleNames = {"both", "prefill", "decode"};

// In the order of SleepBy.
inline constexpr std::array<absl::string_view, 2> kSleepByNames = {"auto", "command"};

// In the order of ExporterKind and NodeEffect.
inline constexpr std::array<absl::string_view, 4> kExporterNames = {"node_exporter", "dcgm", "hami", "prometheus"};
inline constexpr std::array<absl::string_view, 5> kNodeEffectNames = {"derate", "storage", "cpu", "drain", "notice"};

// The needs of a request for the storage of its engine's node.
inline constexpr std::array<absl::string_view, 3> kStorageNeedNames = {"none", "some", "heavy"};

// In the order of RouteCost.
inline constexpr std::array<absl::string_view, 3> kRouteCostNames = {"free", "prompt", "tokens"};

// In the order of FairnessMode and ServiceUnit.
inline constexpr std::array<absl::string_view, 3> kFairnessNames = {"none", "leads", "weighted"};
inline constexpr std::array<absl::string_view, 2> kServiceNames = {"tokens", "memory"};

}  // namespace penstock

#endif  // PENSTOCK_CONFIG_KEYS_NAMES_H_
