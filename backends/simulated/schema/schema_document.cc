#include "backends/simulated/schema/schema_document.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/simulated/machine/mix.h"
#include "backends/simulated/machine/text.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

constexpr int kDeepest = 24;
constexpr int kDeepChoice = 8;  // Below this depth an answer takes the shortest way.
constexpr int kMostValues = 4096;
constexpr int64_t kLongestText = 4096;
constexpr int64_t kMostItems = 256;

bool Has(const json& schema, const char* keyword) { return schema.is_object() && schema.contains(keyword); }

std::optional<double> NumberIn(const json& schema, const char* keyword) {
  const auto found = schema.find(keyword);
  if (found == schema.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

int64_t CountIn(const json& schema, const char* keyword, int64_t otherwise) {
  const auto number = NumberIn(schema, keyword);
  return number && *number >= 0 && *number < 1e9 ? static_cast<int64_t>(*number) : otherwise;
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
  std::string Formatted(const std::string& format);
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
  if (depth > kDeepest || ++values_ > kMostValues) return Fail("the schema has no document of a bounded size");
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
  for (size_t i = 0; i < options.size(); ++i) {
    auto value = Write(options[(first + i) % options.size()], depth + 1);
    if (value) return value;
  }
  return std::nullopt;
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
  const json required = schema.value("required", json::array());
  const json properties = schema.value("properties", json::object());
  if (!required.is_array() || !properties.is_object()) return Fail("properties is an object, required is a list");
  const auto is_required = [&](const std::string& name) {
    return std::find(required.begin(), required.end(), json(name)) != required.end();
  };
  for (const auto& [name, part] : properties.items()) {
    if (!is_required(name) && (depth > kDeepChoice || Draw() % 2 == 0)) continue;
    auto value = Write(part, depth + 1);
    if (!value && is_required(name)) return std::nullopt;
    if (value) object[name] = *std::move(value);
  }
  for (const json& name : required) {
    if (!name.is_string()) return Fail("required is a list of names");
    const auto key = name.get<std::string>();
    if (!object.contains(key)) object[key] = *WriteText(json::object());
  }
  return object;
}

std::optional<json> Writer::WriteArray(const json& schema, int depth) {
  json array = json::array();
  const json fixed = schema.value("prefixItems", json::array());
  const json items = schema.value("items", json(true));
  const int64_t least = CountIn(schema, "minItems", 0);
  const int64_t most = CountIn(schema, "maxItems", std::max<int64_t>(least, 3));
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

std::string Writer::Formatted(const std::string& format) {
  const auto two = [&](uint64_t low, uint64_t count) { return absl::Dec(low + Draw() % count, absl::kZeroPad2); };
  const std::string date = absl::StrCat("2026-", two(1, 12), "-", two(1, 28));
  const std::string time = absl::StrCat(two(0, 24), ":", two(0, 60), ":", two(0, 60), "Z");
  if (format == "date-time") return absl::StrCat(date, "T", time);
  if (format == "date") return date;
  if (format == "time") return time;
  if (format == "duration") return absl::StrCat("PT", 1 + Draw() % 59, "M");
  if (format == "email") return absl::StrCat("user", Draw() % 1000, "@example.com");
  if (format == "hostname") return absl::StrCat("host", Draw() % 1000, ".example.com");
  if (format == "uri") return absl::StrCat("https://example.com/", Draw() % 1000);
  if (format == "ipv4") return absl::StrCat("192.0.2.", Draw() % 256);
  if (format == "ipv6") return absl::StrCat("2001:db8::", 1 + Draw() % 9999);
  if (format != "uuid") return {};
  const uint64_t high = Draw(), low = Draw();
  return absl::StrCat(absl::Hex(high >> 32, absl::kZeroPad8), "-", absl::Hex(high >> 16 & 0xffff, absl::kZeroPad4),
                      "-4", absl::Hex(high & 0xfff, absl::kZeroPad3), "-a",
                      absl::Hex(low >> 48 & 0xfff, absl::kZeroPad3), "-",
                      absl::Hex(low & 0xffffffffffff, absl::kZeroPad12));
}

std::optional<json> Writer::WriteText(const json& schema) {
  if (Has(schema, "pattern")) return Fail("`pattern` is not played by the simulated engine");
  const int64_t least = CountIn(schema, "minLength", 0);
  const int64_t most = CountIn(schema, "maxLength", kLongestText);
  if (least > kLongestText || most < least) return Fail("a text of at most 4096 characters is written");
  const json format = schema.value("format", json());
  std::string text = format.is_string() ? Formatted(format.get<std::string>()) : std::string();
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
