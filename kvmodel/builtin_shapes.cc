#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "kvmodel/model_shape.h"

namespace penstock {
namespace {

using Groups = std::vector<LayerGroup>;

// Numbers of one row: billions of parameters, all and active.
struct Size {
  double billions;
  double active_billions;
};
constexpr Size Dense(double billions) { return {billions, billions}; }

// `width`: ModelShape::attention_width. MLA has (128 + 64 + 128) / 2 per query head.
ModelShape Row(absl::string_view name, double width, Groups groups, Size size, int64_t max_context) {
  ModelShape shape;
  shape.name = std::string(name);
  for (const LayerGroup& group : groups) shape.layers += group.layers;
  shape.groups = std::move(groups);
  shape.parameters = size.billions * 1e9;
  shape.active_parameters = size.active_billions * 1e9;
  shape.attention_width = width;
  shape.max_context = Tokens(max_context);
  return shape;
}

Groups Full(int layers, int kv_heads, int head_dim) { return {AttentionGroup(layers, kv_heads, head_dim)}; }

Groups Mixed(int full, int sliding, int64_t window, int kv_heads, int head_dim) {
  return {AttentionGroup(full, kv_heads, head_dim), AttentionGroup(sliding, kv_heads, head_dim, Tokens(window))};
}

Groups DeltaNetHybrid(LayerGroup full, int linear, int value_heads, double state_bytes) {
  DeltaNetDimensions dimensions;
  dimensions.key_heads = 16;
  dimensions.value_heads = value_heads;
  dimensions.key_dim = 128;
  dimensions.value_dim = 128;
  return {full, DeltaNetGroup(linear, dimensions, state_bytes)};
}

void AddLlama(std::vector<ModelShape>& rows) {
  rows.push_back(Row("tinyllama-1.1b", 2048, Full(22, 4, 64), Dense(1.1), 2048));
  rows.push_back(Row("llama-2-7b", 4096, Full(32, 32, 128), Dense(6.74), 4096));
  rows.push_back(Row("llama-2-13b", 5120, Full(40, 40, 128), Dense(13.0), 4096));
  rows.push_back(Row("llama-2-70b", 8192, Full(80, 8, 128), Dense(69.0), 4096));
  rows.push_back(Row("llama-3-8b", 4096, Full(32, 8, 128), Dense(8.03), 8192));
  rows.push_back(Row("llama-3-70b", 8192, Full(80, 8, 128), Dense(70.6), 8192));
  rows.push_back(Row("llama-3.1-8b", 4096, Full(32, 8, 128), Dense(8.03), 131072));
  rows.push_back(Row("llama-3.1-70b", 8192, Full(80, 8, 128), Dense(70.6), 131072));
  rows.push_back(Row("llama-3.1-405b", 16384, Full(126, 8, 128), Dense(405.9), 131072));
  rows.push_back(Row("llama-3.2-1b", 2048, Full(16, 8, 64), Dense(1.24), 131072));
  rows.push_back(Row("llama-3.2-3b", 3072, Full(28, 8, 128), Dense(3.21), 131072));
  rows.push_back(Row("llama-3.3-70b", 8192, Full(80, 8, 128), Dense(70.6), 131072));
}

void AddQwen(std::vector<ModelShape>& rows) {
  rows.push_back(Row("qwen2.5-0.5b", 896, Full(24, 2, 64), Dense(0.49), 32768));
  rows.push_back(Row("qwen2.5-1.5b", 1536, Full(28, 2, 128), Dense(1.54), 32768));
  rows.push_back(Row("qwen2.5-3b", 2048, Full(36, 2, 128), Dense(3.09), 32768));
  rows.push_back(Row("qwen2.5-7b", 3584, Full(28, 4, 128), Dense(7.62), 32768));
  rows.push_back(Row("qwen2.5-14b", 5120, Full(48, 8, 128), Dense(14.8), 32768));
  rows.push_back(Row("qwen2.5-32b", 5120, Full(64, 8, 128), Dense(32.8), 32768));
  rows.push_back(Row("qwen2.5-72b", 8192, Full(80, 8, 128), Dense(72.7), 32768));
  rows.push_back(Row("qwen3-0.6b", 2048, Full(28, 8, 128), Dense(0.6), 40960));
  rows.push_back(Row("qwen3-1.7b", 2048, Full(28, 8, 128), Dense(1.72), 40960));
  rows.push_back(Row("qwen3-4b", 4096, Full(36, 8, 128), Dense(4.02), 40960));
  rows.push_back(Row("qwen3-8b", 4096, Full(36, 8, 128), Dense(8.19), 40960));
  rows.push_back(Row("qwen3-14b", 5120, Full(40, 8, 128), Dense(14.8), 40960));
  rows.push_back(Row("qwen3-32b", 8192, Full(64, 8, 128), Dense(32.8), 40960));
  rows.push_back(Row("qwen3-30b-a3b", 4096, Full(48, 4, 128), {30.5, 3.3}, 40960));
  rows.push_back(Row("qwen3-235b-a22b", 8192, Full(94, 4, 128), {235, 22}, 40960));
  rows.push_back(
      Row("qwen3-next-80b-a3b", 4096, DeltaNetHybrid(AttentionGroup(12, 2, 256), 36, 32, 2), {80, 3}, 262144));
  rows.push_back(Row("qwen3.5-27b", 6144, DeltaNetHybrid(AttentionGroup(16, 4, 256), 48, 48, 4), Dense(27), 262144));
}

void AddMistral(std::vector<ModelShape>& rows) {
  rows.push_back(Row("mistral-7b-v0.1", 4096, {AttentionGroup(32, 8, 128, Tokens(4096))}, Dense(7.25), 32768));
  rows.push_back(Row("mistral-7b-v0.2", 4096, Full(32, 8, 128), Dense(7.25), 32768));
  rows.push_back(Row("mistral-7b-v0.3", 4096, Full(32, 8, 128), Dense(7.25), 32768));
  rows.push_back(Row("mistral-small-24b", 4096, Full(40, 8, 128), Dense(23.6), 32768));
  rows.push_back(Row("mistral-small-3.1-24b", 4096, Full(40, 8, 128), Dense(23.6), 131072));
  rows.push_back(Row("mixtral-8x7b", 4096, Full(32, 8, 128), {46.7, 12.9}, 32768));
}

void AddGoogleAndMicrosoft(std::vector<ModelShape>& rows) {
  rows.push_back(Row("gemma-2-2b", 2048, Mixed(13, 13, 4096, 4, 256), Dense(2.61), 8192));
  rows.push_back(Row("gemma-2-9b", 4096, Mixed(21, 21, 4096, 8, 256), Dense(9.24), 8192));
  rows.push_back(Row("gemma-2-27b", 4096, Mixed(23, 23, 4096, 16, 128), Dense(27.2), 8192));
  rows.push_back(Row("gemma-3-12b", 4096, Mixed(8, 40, 1024, 8, 256), Dense(12.2), 131072));
  rows.push_back(Row("gemma-3-27b", 4096, Mixed(10, 52, 1024, 16, 128), Dense(27.4), 131072));
  rows.push_back(Row("phi-3-mini-4k", 3072, {AttentionGroup(32, 32, 96, Tokens(2047))}, Dense(3.82), 4096));
  rows.push_back(Row("phi-3-mini-128k", 3072, Full(32, 32, 96), Dense(3.82), 131072));
  rows.push_back(Row("phi-4", 5120, Full(40, 10, 128), Dense(14.7), 16384));
}

void AddMixtures(std::vector<ModelShape>& rows) {
  rows.push_back(Row("deepseek-v2-lite", 2560, {LatentGroup(27, 512, 64)}, {15.7, 2.4}, 32768));
  rows.push_back(Row("deepseek-v3", 20480, {LatentGroup(61, 512, 64)}, {671, 37}, 163840));
  rows.push_back(Row("deepseek-v3.2", 20480, {LatentGroup(61, 512, 64, 128)}, {671, 37}, 163840));
  rows.push_back(Row("deepseek-r1", 20480, {LatentGroup(61, 512, 64)}, {671, 37}, 163840));
  rows.push_back(Row("kimi-k2", 10240, {LatentGroup(61, 512, 64)}, {1000, 32}, 131072));
  rows.push_back(Row("gpt-oss-20b", 4096, Mixed(12, 12, 128, 8, 64), {20.9, 3.6}, 131072));
  rows.push_back(Row("gpt-oss-120b", 4096, Mixed(18, 18, 128, 8, 64), {116.8, 5.1}, 131072));
}

struct Alias {
  const char* name;
  const char* of;
};
constexpr Alias kAliases[] = {
    {"mistral-7b", "mistral-7b-v0.3"},
    {"mistral-small-3.2-24b", "mistral-small-3.1-24b"},
    {"mixtral-8x7b-v0.1", "mixtral-8x7b"},
    {"tinyllama-1.1b-v1.0", "tinyllama-1.1b"},
    {"phi-3-mini", "phi-3-mini-128k"},
    {"phi-3.5-mini", "phi-3-mini-128k"},
    {"deepseek-v3.1", "deepseek-v3"},
    {"deepseek-r1-distill-llama-8b", "llama-3.1-8b"},
    {"deepseek-r1-distill-llama-70b", "llama-3.3-70b"},
    {"deepseek-r1-distill-qwen-14b", "qwen2.5-14b"},
    {"deepseek-r1-distill-qwen-32b", "qwen2.5-32b"},
};

constexpr absl::string_view kTuningWords[] = {"meta",     "instruct", "chat", "it",    "hf",    "base", "pt",
                                              "thinking", "latest",   "fp8",  "fp16",  "bf16",  "awq",  "gptq",
                                              "gguf",     "dynamic",  "int4", "int8",  "w4a16", "w8a8", "w8a16",
                                              "4bit",     "8bit",     "bnb",  "mxfp4", "nvfp4", "mlx",  "quantized"};

bool AllDigits(absl::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return absl::ascii_isdigit(c); });
}

bool IsQuantisation(absl::string_view word) {
  const size_t digit = word.substr(0, 2) == "iq" ? 2 : 1;
  return word.size() == digit + 1 && (word[0] == 'q' || digit == 2) && absl::ascii_isdigit(word[digit]);
}

// Words that say how weights are tuned or stored, not what the model is. `previous` is the word before it.
bool IsNoise(absl::string_view word, absl::string_view previous) {
  if (std::find(std::begin(kTuningWords), std::end(kTuningWords), word) != std::end(kTuningWords)) return true;
  if (IsQuantisation(word)) return true;
  const bool after_quantisation = IsQuantisation(previous) || previous == "k";
  if (after_quantisation && word.size() <= 2 && (AllDigits(word) || word.find_first_not_of("kxsml") == word.npos)) {
    return true;
  }
  return word.size() == 4 && AllDigits(word);  // A date: 2507.
}

// Splits letters from digits, so that "llama3.1" and "llama-3.1" are the same.
void AppendParts(absl::string_view word, std::string& key) {
  for (size_t i = 0; i < word.size(); ++i) {
    const bool edge = i == 0 || absl::ascii_isdigit(word[i]) != absl::ascii_isdigit(word[i - 1]);
    if (edge) key += '-';
    key += absl::ascii_tolower(word[i]);
  }
}

// The common part of all names of one model.
std::string KeyOf(absl::string_view name) {
  if (const size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  const std::string lower = absl::AsciiStrToLower(name);
  std::string key;
  std::string previous;
  std::string word;
  const auto close = [&] {
    if (!word.empty() && !IsNoise(word, previous)) AppendParts(word, key);
    if (!word.empty()) previous = std::exchange(word, std::string());
  };
  for (const char c : lower) {
    if (absl::ascii_isalnum(c)) {
      word += c;
    } else {
      close();
    }
  }
  close();
  return key;
}

using Index = absl::flat_hash_map<std::string, const ModelShape*>;

Index MakeIndex(const std::vector<ModelShape>& shapes) {
  Index index;
  for (const ModelShape& shape : shapes) index.emplace(KeyOf(shape.name), &shape);
  for (const Alias& alias : kAliases) {
    const ModelShape* shape = index.at(KeyOf(alias.of));
    index.emplace(KeyOf(alias.name), shape);
  }
  return index;
}

std::vector<ModelShape> MakeShapes() {
  std::vector<ModelShape> rows;
  AddLlama(rows);
  AddQwen(rows);
  AddMistral(rows);
  AddGoogleAndMicrosoft(rows);
  AddMixtures(rows);
  std::sort(rows.begin(), rows.end(), [](const ModelShape& a, const ModelShape& b) { return a.name < b.name; });
  return rows;
}

}  // namespace

const std::vector<ModelShape>& BuiltinShapes() {
  static const auto& shapes = *new std::vector<ModelShape>(MakeShapes());
  return shapes;
}

const ModelShape* FindBuiltinShape(absl::string_view name) {
  static const auto& index = *new Index(MakeIndex(BuiltinShapes()));
  const auto found = index.find(KeyOf(name));
  return found == index.end() ? nullptr : found->second;
}

}  // namespace penstock
