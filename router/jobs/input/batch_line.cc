#include "router/jobs/input/batch_line.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "router/openai/request/json_cursor.h"
#include "router/openai/request/json_walk.h"

namespace penstock::jobs {
namespace {

constexpr size_t kWholeLine = static_cast<size_t>(-1);

// The fields of a line, and `model` of its body.
enum Field : size_t { kCustomId, kMethod, kUrl, kBody, kModel, kFieldCount, kNoField };
constexpr std::array<absl::string_view, kFieldCount> kNames = {"custom_id", "method", "url", "body", "body.model"};

// Notes the bytes of each field.
class Fields {
 public:
  explicit Fields(absl::string_view line) : line_(line) {}

  void Key(absl::string_view raw, bool escaped) {
    std::string name(raw);
    if (escaped) name = JsonValue{line_, SpanIn(line_, {raw.data() - 1, raw.size() + 2})}.Text();
    next_ = depth_ == 1 ? FieldOf(name) : depth_ == 2 && name == "model" ? kModel : kNoField;
  }
  bool Open(const char* at) {
    // The object of the line, then that of its body.
    const bool inside = depth_ == 0 || (depth_ == 1 && next_ == kBody && *at == '{');
    if (inside) ++depth_;
    if (depth_ == 2) next_ = kNoField;
    return inside;
  }
  static TextCounter* Text(const char* /*at*/) { return nullptr; }
  void Close() {
    // The value that ends now is the body.
    next_ = depth_ == 2 ? kBody : kNoField;
    --depth_;
  }
  void End(absl::string_view raw) {
    if (depth_ == 0 || next_ == kNoField) return;
    std::optional<JsonValue>& field = fields_[next_];
    if (field) twice_ = std::min<size_t>(twice_, next_);
    field = JsonValue{line_, SpanIn(line_, raw)};
    next_ = kNoField;
  }

  const std::optional<JsonValue>& operator[](Field field) const { return fields_[field]; }
  // The first field that occurs twice; kNoField: none.
  size_t twice() const { return twice_; }

 private:
  static Field FieldOf(absl::string_view name) {
    for (size_t i = 0; i < kModel; ++i) {
      if (kNames[i] == name) return static_cast<Field>(i);
    }
    return kNoField;
  }

  const absl::string_view line_;
  std::array<std::optional<JsonValue>, kFieldCount> fields_;
  Field next_ = kNoField;
  size_t twice_ = kNoField;
  int depth_ = 0;
};

int64_t ColumnAt(absl::string_view line, size_t position) {
  const absl::string_view before = line.substr(0, position);
  const auto continues = [](char c) { return ContinuesUtf8(static_cast<unsigned char>(c)); };
  return 1 + static_cast<int64_t>(before.size()) - std::count_if(before.begin(), before.end(), continues);
}

// The position of the first byte that is not UTF-8.
std::optional<size_t> NoUtf8(absl::string_view line) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(line.data());
  const unsigned char* const end = begin + line.size();
  for (const unsigned char* at = begin; at < end;) {
    const int length = *at < 0x80 ? 1 : ReadUtf8(at, end).length;
    if (length == 0) return static_cast<size_t>(at - begin);
    at += length;
  }
  return std::nullopt;
}

LineFault NotJson(absl::string_view line, size_t position, absl::string_view why) {
  const int64_t column = ColumnAt(line, position);
  return {"invalid_json_line",
          absl::StrCat("This line is not parseable as valid JSON: ", why, " at column ", column, "."), "", column};
}

LineFault FieldFault(absl::string_view line, const Fields& fields, Field field, absl::string_view code,
                     absl::string_view message) {
  const int64_t column = fields[field] ? ColumnAt(line, fields[field]->span.begin) : 0;
  std::string text(message);
  if (column > 0) absl::StrAppend(&text, " (column ", column, ")");
  return {std::string(code), text + ".", std::string(kNames[field]), column};
}

// Nullopt: a string that is not empty.
std::optional<LineFault> NoText(absl::string_view line, const Fields& fields, Field field) {
  const std::optional<JsonValue>& value = fields[field];
  if (!value || value->kind() == JsonKind::kNull) {
    return FieldFault(line, fields, field, "missing_required_parameter",
                      absl::StrCat("Missing required parameter: '", kNames[field], "'"));
  }
  if (value->kind() != JsonKind::kString) {
    return FieldFault(line, fields, field, "invalid_type",
                      absl::StrCat("Invalid type for '", kNames[field], "': expected a string"));
  }
  if (value->inside().empty()) {
    return FieldFault(line, fields, field, "invalid_value", absl::StrCat("'", kNames[field], "' is empty"));
  }
  return std::nullopt;
}

std::optional<LineFault> BodyFault(absl::string_view line, const Fields& fields) {
  if (!fields[kBody]) {
    return FieldFault(line, fields, kBody, "missing_required_parameter", "Missing required parameter: 'body'");
  }
  if (fields[kBody]->kind() != JsonKind::kObject) {
    return FieldFault(line, fields, kBody, "invalid_type", "Invalid type for 'body': expected an object");
  }
  return NoText(line, fields, kModel);
}

std::optional<LineFault> FaultOf(absl::string_view line, const Fields& fields, absl::string_view url) {
  if (fields.twice() != kNoField) {
    const auto field = static_cast<Field>(fields.twice());
    return FieldFault(line, fields, field, "duplicate_key", absl::StrCat("'", kNames[field], "' occurs twice"));
  }
  for (const Field field : {kCustomId, kMethod, kUrl}) {
    if (auto fault = NoText(line, fields, field)) return fault;
  }
  if (fields[kCustomId]->Text().size() > kMaxCustomId) {
    return FieldFault(line, fields, kCustomId, "invalid_value",
                      absl::StrCat("'custom_id' is longer than ", kMaxCustomId, " bytes"));
  }
  if (fields[kMethod]->Text() != "POST") {
    return FieldFault(line, fields, kMethod, "invalid_method", "The method of a line must be POST");
  }
  if (const std::string own = fields[kUrl]->Text(); own != url) {
    return FieldFault(line, fields, kUrl, "mismatched_url",
                      absl::StrCat("The URL of a line must be the endpoint of its batch, ", url, ", not ",
                                   absl::string_view(own).substr(0, 100)));
  }
  return BodyFault(line, fields);
}

// Empty: it cannot be repeated in an answer.
std::string ReadableId(const Fields& fields) {
  const std::optional<JsonValue>& value = fields[kCustomId];
  if (!value || value->kind() != JsonKind::kString || fields.twice() == kCustomId) return "";
  std::string id = value->Text();
  return id.size() > kMaxCustomId || NoUtf8(id) ? "" : id;
}

std::optional<LineFault> GrammarFault(absl::string_view line, Fields& fields) {
  JsonWalk walk(line);
  const bool json = walk.Run(fields, kWholeLine) == JsonWalk::Progress::kDone;
  if (const auto bad = NoUtf8(line)) return NotJson(line, *bad, "a byte is not UTF-8");
  if (json) return std::nullopt;
  const absl::string_view why = walk.no_object()                 ? "no object"
                                : walk.too_deep()                ? "nested too deep"
                                : walk.position() >= line.size() ? "unexpected end"
                                                                 : "unexpected character";
  return NotJson(line, walk.position(), why);
}

}  // namespace

std::variant<BatchLine, LineFault> ReadBatchLine(absl::string_view line, absl::string_view url) {
  Fields fields(line);
  std::optional<LineFault> fault = GrammarFault(line, fields);
  if (!fault) fault = FaultOf(line, fields, url);
  if (!fault) return BatchLine{fields[kCustomId]->Text(), fields[kModel]->Text(), fields[kBody]->raw()};
  fault->custom_id = ReadableId(fields);
  return *std::move(fault);
}

}  // namespace penstock::jobs
