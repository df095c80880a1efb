#include "backends/simulated/schema/schema_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "backends/simulated/machine/mix.h"
#include "backends/simulated/machine/text.h"
#include "backends/simulated/schema/text_format.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

constexpr int kDeepest = 24;
constexpr int kDeepChoice = 8;  // Below this depth an answer takes the shortest way.
constexpr int kMostValues = 4096;
constexpr int64_t kLongestText = 4096;
constexpr int64_t kMostItems = 256;
constexpr char kTooLarge[] = "the schema has no document of a bounded size";

bool Has(const json& schema, const char* keyword) { return schema.is_object() && schema.contains(keyword); }

const json& MemberOf(const json& schema, const char* keyword, const json& otherwise) {
  const auto found = schema.find(keyword);
  return found == schema.end() ? otherwise : *found;
}

std::optional<double> NumberIn(const json& schema, const char* keyword) {
  static const json none;
  const json& value = MemberOf(schema, keyword, none);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

constexpr int64_t kNoCount = -1;

// kNoCount: the keyword has something else.
int64_t CountIn(const json& schema, const char* keyword, int64_t otherwise) {
  if (!schema.contains(keyword)) return otherwise;
  const auto number = NumberIn(schema, keyword);
  return number && *number >= 0 ? static_cast<int64_t>(std::min(*number, 1e9)) : kNoCount;
}

// The members of both; lists of required names are joined.
json Joined(json base, const json& more) {
  for (const auto& [key, value] : more.items()) {
    if (key == "properties" && Has(base, "properties")) {
      base["properties"].update(value);
    } else if (key == "required" && Has(base, "required") && value.is_array()) {
      for (const json& name : value) base["required"].push_back(name);
    } else {
      base[key] = value;
    }
  }
  return base;
}

class Writer {
 public:
  Writer(const json& root, uint64_t seed) : root_(root), seed_(seed) {}

  std::optional<json> Write(const json& schema, int depth);
  const std::string& fault() const { return fault_; }

 private:
  uint64_t Draw() { return Mix(seed_, ++draws_); }
  std::optional<json> Fail(std::string fault) {
    fault_ = std::move(fault);
    return std::nullopt;
  }
  const json* Resolve(const std::string& reference) const;
  std::optional<json> WriteOneOf(const json& options, int depth);
  std::optional<json> WriteAllOf(const json& schema, int depth);
  std::optional<json> WriteType(const json& schema, int depth);
  std::optional<json> WriteObject(const json& schema, int depth);
  std::optional<json> WriteArray(const json& schema, int depth);
  std::optional<json> WriteText(const json& schema);
  std::optional<json> WriteNumber(const json& schema, bool whole);
  std::string TypeOf(const json& schema);

  const json& root_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  int values_ = 0;
  std::string fault_;
};

const json* Writer::Resolve(const std::string& reference) const {
  if (reference == "#") return &root_;
  if (reference.substr(0, 2) != "#/") return nullptr;
  try {
    const json::json_pointer pointer(reference.substr(1));
    return root_.contains(pointer) ? &root_.at(pointer) : nullptr;
  } catch (const json::exception&) {
    return nullptr;
  }
}

std::optional<json> Writer::Write(const json& schema, int depth) {
  if (++values_ > kMostValues || depth > kDeepest) return Fail(kTooLarge);
  if (schema.is_boolean() && schema.get<bool>()) return WriteText(json::object());
  if (!schema.is_object()) return Fail("a schema is an object or true");
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    const json* target = reference->is_string() ? Resolve(reference->get<std::string>()) : nullptr;
    if (target == nullptr) return Fail("$ref names no part of the schema: " + reference->dump());
    return Write(*target, depth + 1);
  }
  if (Has(schema, "const")) return schema["const"];
  if (const auto values = schema.find("enum"); values != schema.end()) {
    if (!values->is_array() || values->empty()) return Fail("enum is a list of values");
    return (*values)[Draw() % values->size()];
  }
  for (const char* keyword : {"anyOf", "oneOf"}) {
    if (Has(schema, keyword)) return WriteOneOf(schema[keyword], depth);
  }
  if (Has(schema, "allOf")) return WriteAllOf(schema, depth);
  return WriteType(schema, depth);
}

std::optional<json> Writer::WriteOneOf(const json& options, int depth) {
  if (!options.is_array() || options.empty()) return Fail("anyOf and oneOf are lists of schemas");
  const size_t first = Draw() % options.size();
  for (size_t i = 0; i < options.size() && values_ <= kMostValues; ++i) {
    auto value = Write(options[(first + i) % options.size()], depth + 1);
    if (value) return value;
  }
  return Fail(fault_.empty() ? "no alternative has a document" : fault_);
}

std::optional<json> Writer::WriteAllOf(const json& schema, int depth) {
  json whole = schema;
  whole.erase("allOf");
  if (!schema["allOf"].is_array()) return Fail("allOf is a list of schemas");
  for (const json& part : schema["allOf"]) {
    const json* joined = &part;
    if (Has(part, "$ref") && part["$ref"].is_string()) joined = Resolve(part["$ref"].get<std::string>());
    if (joined == nullptr || !joined->is_object()) return Fail("allOf is a list of schemas");
    whole = Joined(std::move(whole), *joined);
  }
  return Write(whole, depth + 1);
}

std::string Writer::TypeOf(const json& schema) {
  const auto type = schema.find("type");
  if (type != schema.end() && type->is_string()) return type->get<std::string>();
  if (type != schema.end() && type->is_array() && !type->empty()) {
    const json& drawn = (*type)[Draw() % type->size()];
    return drawn.is_string() ? drawn.get<std::string>() : std::string();
  }
  if (Has(schema, "properties")) return "object";
  if (Has(schema, "items") || Has(schema, "prefixItems")) return "array";
  if (Has(schema, "minimum") || Has(schema, "maximum")) return "number";
  return "string";
}

std::optional<json> Writer::WriteType(const json& schema, int depth) {
  const std::string type = TypeOf(schema);
  if (type == "object") return WriteObject(schema, depth);
  if (type == "array") return WriteArray(schema, depth);
  if (type == "string") return WriteText(schema);
  if (type == "integer" || type == "number") return WriteNumber(schema, type == "integer");
  if (type == "boolean") return json(Draw() % 2 == 0);
  if (type == "null") return json();
  return Fail("unknown type \"" + type + "\"");
}

std::optional<json> Writer::WriteObject(const json& schema, int depth) {
  json object = json::object();
  static const json none = json::array(), empty = json::object();
  const json& required = MemberOf(schema, "required", none);
  const json& properties = MemberOf(schema, "properties", empty);
  if (!required.is_array() || !properties.is_object()) return Fail("properties is an object, required is a list");
  if (required.size() > kMostValues || properties.size() > kMostValues) return Fail(kTooLarge);
  std::set<std::string> names;
  for (const json& name : required) {
    if (!name.is_string()) return Fail("required is a list of names");
    names.insert(name.get<std::string>());
  }
  for (const auto& [name, part] : properties.items()) {
    if (!names.contains(name) && (depth > kDeepChoice || Draw() % 2 == 0)) continue;
    auto value = Write(part, depth + 1);
    if (!value && names.contains(name)) return std::nullopt;
    if (value) object[name] = *std::move(value);
  }
  for (const std::string& name : names) {
    if (!object.contains(name)) object[name] = *WriteText(json::object());
  }
  const int64_t least = CountIn(schema, "minProperties", 0);
  if (least == kNoCount || least > std::ssize(object)) return Fail("an object has fewer members than minProperties");
  return object;
}

std::optional<json> Writer::WriteArray(const json& schema, int depth) {
  json array = json::array();
  static const json none = json::array(), any = true;
  const json& fixed = MemberOf(schema, "prefixItems", none);
  const json& items = MemberOf(schema, "items", any);
  const int64_t least = CountIn(schema, "minItems", 0);
  const int64_t most = CountIn(schema, "maxItems", std::max<int64_t>(least, 3));
  if (least == kNoCount || most == kNoCount) return Fail("minItems and maxItems are counts");
  if (least > kMostItems || !fixed.is_array()) return Fail("an array of at most 256 items is written");
  if (most < least) return Fail("maxItems is below minItems");
  const int64_t drawn = depth > kDeepChoice ? least : 1 + static_cast<int64_t>(Draw() % 3);
  const int64_t wanted = std::clamp(drawn, least, std::min(most, kMostItems));
  const bool unique = schema.value("uniqueItems", json(false)) == json(true);
  for (int tries = 0; std::ssize(array) < wanted; ++tries) {
    const auto at = static_cast<size_t>(std::ssize(array));
    const json& part = at < fixed.size() ? fixed[at] : items;
    if (part == json(false)) break;
    auto value = Write(part, depth + 1);
    if (!value) {
      if (std::ssize(array) >= least) break;
      return std::nullopt;
    }
    if (unique && std::find(array.begin(), array.end(), *value) != array.end()) {
      if (tries < 64) continue;
      if (std::ssize(array) >= least) break;
      return Fail("the items of an array cannot all differ");
    }
    array.push_back(*std::move(value));
  }
  if (std::ssize(array) < least) return Fail("an array cannot have minItems items");
  return array;
}

std::optional<json> Writer::WriteText(const json& schema) {
  if (Has(schema, "pattern")) return Fail("`pattern` is not played by the simulated engine");
  const int64_t least = CountIn(schema, "minLength", 0);
  const int64_t most = CountIn(schema, "maxLength", kLongestText);
  if (least == kNoCount || most == kNoCount) return Fail("minLength and maxLength are counts");
  if (most < least) return Fail("maxLength is below minLength");
  if (least > kLongestText) return Fail("a text of at most 4096 characters is written");
  const json format = schema.value("format", json());
  std::string text = format.is_string() ? TextOfFormat(format.get<std::string>(), Draw()) : std::string();
  const auto conversation = static_cast<Conversation>(Draw());
  const auto words = 1 + static_cast<int64_t>(conversation % 6);
  const bool fixed = !text.empty();
  for (int64_t i = 0; !fixed && (i < words || std::ssize(text) < least); ++i) text += PieceAt(seed_, conversation, i);
  if (std::ssize(text) > most) text.resize(static_cast<size_t>(most));
  return json(text);
}

std::optional<json> Writer::WriteNumber(const json& schema, bool whole) {
  double low = NumberIn(schema, "minimum").value_or(-std::numeric_limits<double>::infinity());
  double high = NumberIn(schema, "maximum").value_or(std::numeric_limits<double>::infinity());
  const auto above = NumberIn(schema, "exclusiveMinimum");
  const auto below = NumberIn(schema, "exclusiveMaximum");
  double step = NumberIn(schema, "multipleOf").value_or(whole ? 1 : 0);
  if (whole && (step < 1 || std::floor(step) != step)) step = 1;
  const bool free = step <= 0;
  if (free) step = above || below ? 1.0 / 1024 : 1.0 / 8;
  if (above) low = std::max(low, *above + (free ? step / 1024 : 0));
  if (below) high = std::min(high, *below - (free ? step / 1024 : 0));
  if (std::isinf(low)) low = std::isinf(high) ? 0 : high - 100;
  if (std::isinf(high)) high = low + 100;
  double first = std::ceil(low / step), last = std::floor(high / step);
  if (above && first * step <= *above) ++first;
  if (below && last * step >= *below) --last;
  if (first > last) {
    if (free && low <= high) return json(low);
    return Fail("no number lies within the bounds");
  }
  const double steps = std::min(last - first, 1e6);
  const double value = (first + std::floor(Uniform(Draw()) * (steps + 1))) * step;
  const bool exact = whole && std::abs(value) < 9e15;
  return exact ? json(static_cast<int64_t>(value)) : json(value);
}

}  // namespace

SchemaDocument WriteSchemaDocument(const json& schema, uint64_t seed) {
  Writer writer(schema, seed);
  SchemaDocument document;
  document.value = writer.Write(schema, 0);
  if (!document.value) document.fault = writer.fault();
  return document;
}

}  // namespace penstock::simulated
