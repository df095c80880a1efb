#include "router/openai/embedding/embedding_merge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "router/openai/request/json_cursor.h"

namespace penstock {
namespace {

constexpr absl::string_view kInput = "input";
// Bytes beside the embeddings that all parts together may have. An engine sends some hundred.
constexpr size_t kMostCopied = 1 << 20;
// Numbers of a usage. An engine sends two or three.
constexpr size_t kMostNumbers = 64;

// The elements of `input`: none where it has a form that cannot be merged.
std::vector<absl::string_view> InputsOf(const JsonValue& input, bool& ids) {
  std::vector<absl::string_view> inputs;
  ids = false;
  if (input.kind() == JsonKind::kString) return {input.raw()};
  if (input.kind() != JsonKind::kArray) return {};
  std::optional<JsonKind> kind;
  JsonArray elements(input);
  while (const std::optional<JsonValue> element = elements.Next()) {
    if (kind && *kind != element->kind()) return {};
    kind = element->kind();
    inputs.push_back(element->raw());
  }
  if (!kind || *kind == JsonKind::kString) return inputs;
  ids = true;
  if (*kind == JsonKind::kNumber) return {input.raw()};  // One list of token ids.
  return *kind == JsonKind::kArray ? inputs : std::vector<absl::string_view>();
}

// A number inside of an object, and what stands in its place.
struct Edit {
  JsonSpan at;
  std::string text;
};

// The object with some spans of the document replaced. They stand in order.
std::string Spliced(const JsonValue& value, absl::Span<const Edit> edits) {
  std::string text;
  size_t from = value.span.begin;
  for (const Edit& edit : edits) {
    absl::StrAppend(&text, value.document.substr(from, edit.at.begin - from), edit.text);
    from = edit.at.end;
  }
  absl::StrAppend(&text, value.document.substr(from, value.span.end - from));
  return text;
}

struct Element {
  JsonValue value;
  JsonSpan index;
};

// All embeddings of one answer have the same one.
struct Shape {
  JsonKind kind = JsonKind::kNull;  // A list or a string; anything else is no embedding.
  bool nested = false;
  size_t length = 0;  // 0 for a list of lists: it has a row for each token.
  bool operator==(const Shape&) const = default;
};

Shape ShapeOf(const JsonValue& embedding) {
  Shape shape;
  shape.kind = embedding.kind();
  if (shape.kind == JsonKind::kString) {
    const absl::string_view inside = embedding.inside();
    shape.length = absl::StrContains(inside, '\\') ? embedding.Text().size() : inside.size();
  } else if (shape.kind == JsonKind::kArray) {
    const std::optional<JsonValue> first = JsonArray(embedding).Next();
    shape.nested = first && first->kind() == JsonKind::kArray;
    const absl::string_view raw = embedding.raw();
    // Numbers have no commas inside.
    const auto commas = static_cast<size_t>(std::count(raw.begin(), raw.end(), ','));
    if (first && !shape.nested) shape.length = commas + 1;
  }
  return shape;
}

absl::StatusOr<std::vector<Element>> ElementsOf(const JsonValue& data, size_t count) {
  std::vector<std::optional<Element>> found(count);
  std::optional<Shape> common;
  JsonArray elements(data);
  while (const std::optional<JsonValue> value = elements.Next()) {
    if (value->kind() != JsonKind::kObject) return absl::DataLossError("an embedding is no object");
    std::optional<JsonValue> index;
    Shape shape;
    JsonObject members(*value);
    while (const auto member = members.Next()) {
      if (member->key == "index") index = member->value;
      if (member->key == "embedding") shape = ShapeOf(member->value);
    }
    if (shape.kind != JsonKind::kArray && shape.kind != JsonKind::kString) {
      return absl::DataLossError("an embedding is neither a list nor a string");
    }
    if (common && *common != shape) return absl::DataLossError("the embeddings have different kinds or lengths");
    common = shape;
    const std::optional<int64_t> position = index ? index->Integer() : std::nullopt;
    if (!position || *position < 0 || static_cast<size_t>(*position) >= count) {
      return absl::DataLossError("an embedding has no index of an input");
    }
    std::optional<Element>& place = found[static_cast<size_t>(*position)];
    if (place) return absl::DataLossError(absl::StrCat("two embeddings have the index ", *position));
    place = Element{*value, index->span};
  }
  std::vector<Element> in_order;
  for (const std::optional<Element>& element : found) {
    if (!element) return absl::DataLossError("the answer has fewer embeddings than inputs");
    in_order.push_back(*element);
  }
  return in_order;
}

// One usage per part: the numbers of tokens are divided, all else stays. Empty: it has too many numbers.
std::vector<std::string> UsagesOf(const JsonValue& usage, absl::Span<const EmbeddingPart> parts) {
  std::vector<std::pair<JsonSpan, std::vector<int64_t>>> numbers;
  JsonObject members(usage);
  while (const auto member = members.Next()) {
    const std::optional<int64_t> total = member->value.Integer();
    if (!total || *total <= 0) continue;
    if (numbers.size() == kMostNumbers) return {};
    numbers.emplace_back(member->value.span, SharesOf(*total, parts));
  }
  std::vector<std::string> usages;
  usages.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<Edit> edits;
    edits.reserve(numbers.size());
    for (const auto& [span, shares] : numbers) edits.push_back({span, absl::StrCat(shares[i])});
    usages.push_back(Spliced(usage, edits));
  }
  return usages;
}

}  // namespace

EmbeddingRequest ReadEmbeddingRequest(absl::string_view body) {
  EmbeddingRequest request;
  std::vector<std::pair<std::string, absl::string_view>> fields;
  bool ids = false;
  JsonObject members(ValueAt(body, 0));
  while (const auto member = members.Next()) {
    const bool input = member->key == kInput;
    if (input) request.inputs = InputsOf(member->value, ids);
    fields.emplace_back(member->key, input ? absl::string_view() : member->value.raw());
  }
  std::sort(fields.begin(), fields.end());
  const auto repeated =
      std::adjacent_find(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (request.inputs.empty() || repeated != fields.end()) return {};
  AddToKey("kind", ids ? "ids" : "texts", &request.key);
  for (const auto& [name, value] : fields) AddToKey(name, value, &request.key);
  return request;
}

void AddToKey(absl::string_view name, absl::string_view value, std::string* key) {
  absl::StrAppend(key, name.size(), ":", name, value.size(), ":", value);
}

std::string MergedBody(absl::string_view first, absl::Span<const std::vector<absl::string_view>> inputs) {
  std::string list;
  for (const std::vector<absl::string_view>& part : inputs) {
    for (const absl::string_view input : part) absl::StrAppend(&list, list.empty() ? "[" : ",", input);
  }
  list += ']';
  const JsonValue body = ValueAt(first, 0);
  std::vector<Edit> edits;
  JsonObject members(body);
  while (const auto member = members.Next()) {
    if (member->key == kInput) edits.push_back({member->value.span, std::exchange(list, {})});
  }
  return Spliced(body, edits);
}

std::vector<int64_t> SharesOf(int64_t total, absl::Span<const EmbeddingPart> parts) {
  double weights = 0;
  for (const EmbeddingPart& part : parts) weights += static_cast<double>(std::max<int64_t>(1, part.weight));
  std::vector<int64_t> shares;
  double before = 0;
  int64_t given = 0;
  for (const EmbeddingPart& part : parts) {
    before += static_cast<double>(std::max<int64_t>(1, part.weight));
    // The rounded sum of all parts up to this one: no rounding is lost.
    const double exact = static_cast<double>(total) * before / weights + 0.5;
    const int64_t until = exact < static_cast<double>(total) ? static_cast<int64_t>(exact) : total;
    shares.push_back(until - given);
    given = until;
  }
  return shares;
}

absl::StatusOr<std::vector<std::string>> SplitEmbeddings(absl::string_view answer,
                                                         absl::Span<const EmbeddingPart> parts) {
  size_t count = 0;
  for (const EmbeddingPart& part : parts) count += part.inputs;
  absl::StatusOr<std::vector<Element>> elements = absl::DataLossError("the answer has no list of embeddings");
  std::vector<std::string> usages;
  std::vector<std::string> answers(parts.size(), "{");
  size_t copied = 0;  // Bytes that every part gets.
  JsonObject members(ValueAt(answer, 0));
  while (const auto member = members.Next()) {
    const bool data = member->key == "data" && member->value.kind() == JsonKind::kArray;
    if (data) elements = ElementsOf(member->value, count);
    if (!elements.ok() && data) return elements.status();
    const absl::string_view key = answer.substr(member->key_span.begin, member->key_span.size());
    copied += data ? 0 : key.size() + member->value.raw().size();
    if (copied * parts.size() > kMostCopied) return absl::DataLossError("the answer has more beside its embeddings");
    const bool usage = member->key == "usage" && member->value.kind() == JsonKind::kObject;
    if (usage) usages = UsagesOf(member->value, parts);
    if (usage && usages.empty()) return absl::DataLossError("the usage has too many numbers");
    size_t next = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      std::string& own = answers[i];
      absl::StrAppend(&own, own.size() > 1 ? "," : "", key, ":");
      if (data) own += '[';
      for (size_t j = 0; data && j < parts[i].inputs; ++j) {
        const Element& element = (*elements)[next++];
        const Edit index{element.index, absl::StrCat(j)};
        absl::StrAppend(&own, j > 0 ? "," : "", Spliced(element.value, {&index, 1}));
      }
      if (data) {
        own += ']';
      } else {
        own += usage ? usages[i] : std::string(member->value.raw());
      }
    }
  }
  if (!elements.ok()) return elements.status();
  for (std::string& own : answers) own += '}';
  return answers;
}

}  // namespace penstock
