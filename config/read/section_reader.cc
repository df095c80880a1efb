#include "config/read/section_reader.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/read/named_files.h"
#include "config/shape/shape_file.h"
#include "config/text/findings.h"
#include "config/values/policy_pair.h"

namespace penstock {
namespace {

constexpr size_t kLongestPem = 4 << 20;
constexpr size_t kLongestShapeFile = 4 << 20;

std::vector<absl::string_view> KindNames() {
  std::vector<absl::string_view> names;
  for (const GpuKind& known : GpuKinds()) names.push_back(known.name);
  return names;
}

std::vector<absl::string_view> ShapeNames() {
  std::vector<absl::string_view> names;
  for (const ModelShape& known : BuiltinShapes()) names.push_back(known.name);
  return names;
}

std::optional<ModelShape> ShapeFromFile(Draft& draft, const MapReader& map, absl::string_view key,
                                        const std::string& path) {
  const absl::StatusOr<std::string> json = draft.ReadNamedFile(path, kLongestShapeFile);
  absl::StatusOr<ModelShape> shape = json.ok() ? ShapeFromHuggingFace(*json, "") : json.status();
  if (shape.ok()) return *std::move(shape);
  map.Fail(key, shape.status().message());
  return std::nullopt;
}

// One policy, where the key is given.
void ReadPolicy(Draft& draft, const MapReader& map, absl::string_view key, std::string* policy) {
  std::string text;
  if (!ReadValue(map, key, TextForm{}, &text)) return;
  const PolicyCheck& known = draft.policies;
  if (known.parse && text.find(':') == std::string::npos) {
    const std::vector<absl::string_view> names(known.names.begin(), known.names.end());
    size_t position = 0;
    if (ReadValue(map, key, ChoiceForm{names}, &position)) *policy = text;
    return;
  }
  const absl::Status status = known.parse ? known.parse(text) : absl::OkStatus();
  if (!status.ok()) return map.Fail(key, status.message());
  *policy = text;
}

}  // namespace

void SectionReader::Read(Name key, std::string& policy, const PolicyForm&) {
  PolicyPair pair;
  if (!map_.IsMap(key)) {
    std::string text;
    if (!ReadValue(map_, key, TextForm{}, &text)) return;
    pair = PolicyPairOf(text);
    if (pair.shadow.empty()) return ReadPolicy(draft_, map_, key, &policy);
    for (const std::string& each : {pair.decide, pair.shadow}) {
      const absl::Status status = draft_.policies.parse ? draft_.policies.parse(each) : absl::OkStatus();
      if (!status.ok()) return map_.Fail(key, status.message());
    }
  } else if (const std::optional<MapReader> map = map_.ReadMap(key, {"decide", "shadow"})) {
    if (!map->Require("decide")) return;
    ReadPolicy(draft_, *map, "decide", &pair.decide);
    ReadPolicy(draft_, *map, "shadow", &pair.shadow);
    if (pair.decide.empty()) return;
  }
  policy = PolicyTextOf(pair);
}

void SectionReader::Read(Name key, std::string& secret, const SecretForm&) {
  std::string text;
  if (!ReadValue(map_, key, TextForm{}, &text)) return;
  absl::StatusOr<std::string> value = ResolveSecret(text, draft_);
  if (!value.ok()) return map_.Fail(key, value.status().message());
  secret = *std::move(value);
}

void SectionReader::Read(Name key, PemFile& file, const PemForm&) {
  if (!ReadValue(map_, key, TextForm{}, &file.path)) return;
  absl::StatusOr<std::string> text = draft_.ReadNamedFile(file.path, kLongestPem);
  if (!text.ok()) return map_.Fail(key, text.status().message());
  // Without a text the file would count as left out.
  if (text->empty()) return map_.Fail(key, absl::StrCat(file.path, " is empty"));
  file.text = *std::move(text);
}

void SectionReader::Read(Name key, std::vector<std::string>& digests, const ApiKeysForm&) {
  const std::optional<std::vector<std::string>> texts = map_.Texts(key);
  if (!texts) return;
  if (texts->empty()) map_.Fail(key, "must not be empty");
  for (size_t i = 0; i < texts->size(); ++i) {
    absl::StatusOr<std::string> digest = ResolveKeyDigest((*texts)[i], draft_);
    if (digest.ok()) {
      digests.push_back(*std::move(digest));
    } else {
      map_.FailAt(key, i, digest.status().message());
    }
  }
}

void SectionReader::Read(Name key, std::map<std::string, std::string>& texts, const TextMapForm&) {
  const std::optional<MapReader> map = map_.ReadNames(key, kMostListed);
  if (!map) return;
  for (const std::string& name : map->Keys()) {
    std::string text;
    if (ReadValue(*map, name, TextForm{}, &text)) texts[name] = text;
  }
}

void SectionReader::Read(Name key, std::map<std::string, std::string>& secrets, const SecretMapForm&) {
  const std::optional<MapReader> map = map_.ReadNames(key, kMostListed);
  if (!map) return;
  for (const std::string& name : map->Keys()) {
    std::string text;
    if (!IsHeaderName(name)) {
      map->Fail(name, kHeaderNameRule);
    } else if (ReadValue(*map, name, TextForm{}, &text)) {
      absl::StatusOr<std::string> value = ResolveHeaderValue(text, draft_);
      if (!value.ok()) return map->Fail(name, value.status().message());
      secrets[name] = *std::move(value);
    }
  }
}

void SectionReader::Read(Name key, GpuKind& kind, const KindForm&) {
  if (map_.IsMap(key)) {
    kind = DefaultOf<GpuKind>();
    return ReadSection(draft_, *map_.ReadMap(key, KeyNames<GpuKind>()), kind);
  }
  const std::vector<absl::string_view> names = KindNames();
  size_t position = 0;
  if (ReadValue(map_, key, ChoiceForm{names}, &position)) kind = GpuKinds()[position];
}

void SectionReader::Read(Name key, GpuKind& kind, const KindMemoryForm& form) {
  ReadValue(map_, key, form.size, &kind.memory);
}

void SectionReader::Read(Name key, std::optional<ModelShape>& shape, const ShapeForm&) {
  if (map_.IsMap(key)) {
    ShapeNumbers numbers;
    ReadSection(draft_, *map_.ReadMap(key, KeyNames<ShapeNumbers>()), numbers);
    shape = ShapeOf(numbers);
    return;
  }
  std::string text;
  if (!ReadValue(map_, key, TextForm{}, &text)) return;
  if (absl::EndsWith(text, ".json")) {
    shape = ShapeFromFile(draft_, map_, key, text);
  } else if (const ModelShape* builtin = FindBuiltinShape(text)) {
    shape = *builtin;
  } else {
    map_.Fail(key, absl::StrCat("\"", text, "\" is neither a built-in shape", map_.Suggest(text, ShapeNames()),
                                " nor a path that ends in .json"));
  }
}

void ReadSections(Draft& draft) { ReadSection(draft, draft.root, draft.config); }

}  // namespace penstock
