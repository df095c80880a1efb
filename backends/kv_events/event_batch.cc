#include "backends/kv_events/event_batch.h"

#include <xxhash.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using Json = nlohmann::json;

// Levels of a batch: the batch, its list of events, an event, a field of it.
constexpr size_t kBatchLevel = 1;
constexpr size_t kListLevel = 2;
constexpr size_t kEventLevel = 3;
constexpr size_t kFieldLevel = 4;
// Deeper values than those of any known field end the reading: it recurses with them.
constexpr size_t kMostLevels = 16;

enum class Field : uint8_t { kNone, kType, kBlocks, kParent, kBlockSize, kMedium, kGroup, kSession };

Field FieldNamed(absl::string_view name) {
  constexpr std::pair<absl::string_view, Field> kNames[] = {
      {"type", Field::kType},         {"block_hashes", Field::kBlocks},  {"parent_block_hash", Field::kParent},
      {"medium", Field::kMedium},     {"block_size", Field::kBlockSize}, {"group_idx", Field::kGroup},
      {"session_id", Field::kSession}};
  for (const auto& [text, field] : kNames) {
    if (text == name) return field;
  }
  return Field::kNone;
}

// The fields of an event that is an array. SGLang and older versions of vLLM have these; longer arrays go on.
Field FieldAt(size_t position, bool stored) {
  constexpr std::array<Field, 7> kStored = {Field::kType,      Field::kBlocks, Field::kParent, Field::kNone,
                                            Field::kBlockSize, Field::kNone,   Field::kMedium};
  constexpr std::array<Field, 3> kRemoved = {Field::kType, Field::kBlocks, Field::kMedium};
  if (stored) return position < kStored.size() ? kStored[position] : Field::kNone;
  return position < kRemoved.size() ? kRemoved[position] : Field::kNone;
}

// An event while it is read.
struct Draft {
  KvEvent event;
  std::string type;
  Field field = Field::kNone;  // That of the next value.
  bool whole = false;          // Its blocks were a list.
};

// Takes the values of a batch in their order. A function that returns false ends the reading.
class BatchReader {
 public:
  KvBatch TakeBatch() { return std::move(batch_); }
  const std::string& fault() const { return fault_; }

  bool null() { return Number(std::nullopt); }
  bool boolean(bool) { return Number(std::nullopt); }
  bool number_integer(int64_t value) { return Number(static_cast<uint64_t>(value)); }
  bool number_unsigned(uint64_t value) { return Number(value); }
  bool number_float(double value, const std::string&) {
    if (levels_.size() == kBatchLevel && levels_.back().position == 0) batch_.time = value;
    return Number(std::nullopt);
  }
  bool string(std::string& text) { return Text(text); }
  bool binary(Json::binary_t& bytes) { return Text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); }

  bool start_object(size_t) {
    if (levels_.size() < kListLevel) return Fail("it is no batch");
    return Open(false);
  }
  bool key(const std::string& name) {
    if (levels_.size() == kEventLevel) draft_.field = FieldNamed(name);
    return true;
  }
  bool end_object() { return Close(); }
  bool start_array(size_t) { return Open(true); }
  bool end_array() { return Close(); }
  bool parse_error(size_t at, const std::string&, const Json::exception&) {
    return Fail(absl::StrCat("it is no msgpack from byte ", at, " on"));
  }

 private:
  struct Level {
    bool array;
    size_t position = 0;  // Values before the present one.
  };

  bool Fail(absl::string_view fault) {
    if (fault_.empty()) fault_ = std::string(fault);
    return false;
  }
  bool Open(bool array) {
    if (levels_.size() >= kMostLevels) return Fail("it nests too deep");
    if (levels_.size() == kEventLevel && InArray()) draft_.field = FieldAt(levels_.back().position, Stored());
    if (levels_.size() == kEventLevel && draft_.field == Field::kBlocks) draft_.whole = array;
    levels_.push_back({array});
    if (levels_.size() == kEventLevel) draft_ = Draft();
    return true;
  }
  bool Close() {
    if (levels_.size() == kEventLevel && !EndEvent()) return false;
    levels_.pop_back();
    return Next();
  }
  // A value has ended.
  bool Next() {
    if (!levels_.empty()) ++levels_.back().position;
    return true;
  }
  bool InArray() const { return levels_.back().array; }
  bool Stored() const { return draft_.type == "BlockStored"; }
  // The field of the value that comes now; kNone: nobody needs it.
  Field Meant() {
    if (levels_.size() == kFieldLevel)
      return InArray() && draft_.field == Field::kBlocks ? Field::kBlocks : Field::kNone;
    if (levels_.size() != kEventLevel) return Field::kNone;
    return InArray() ? FieldAt(levels_.back().position, Stored()) : draft_.field;
  }

  bool Number(std::optional<uint64_t> value) {
    if (levels_.size() < kBatchLevel) return Fail("it is no batch");
    if (levels_.size() == kListLevel) return Fail("an event is neither map nor array");
    if (levels_.size() == kBatchLevel && levels_.back().position == 2 && value)
      batch_.rank = static_cast<int64_t>(*value);
    const Field field = Meant();
    if (field == Field::kNone || !value) return Next();
    switch (field) {
      case Field::kBlocks:
        if (levels_.size() == kFieldLevel) draft_.event.blocks.push_back(*value);
        break;
      case Field::kParent:
        draft_.event.parent = value;
        break;
      case Field::kBlockSize:
        draft_.event.block_size = static_cast<int64_t>(*value);
        break;
      case Field::kGroup:
        draft_.event.group = static_cast<int64_t>(*value);
        break;
      default:
        break;
    }
    return Next();
  }

  bool Text(absl::string_view text) {
    const Field field = Meant();
    if (field == Field::kBlocks || field == Field::kParent) return Number(XXH3_64bits(text.data(), text.size()));
    if (field == Field::kType) draft_.type = std::string(text);
    if (field == Field::kMedium) draft_.event.medium = std::string(text);
    if (field == Field::kSession) draft_.event.session = std::string(text);
    return Number(std::nullopt);
  }

  bool EndEvent() {
    KvEvent& event = draft_.event;
    if (draft_.type == "AllBlocksCleared") {
      event.kind = KvEventKind::kCleared;
    } else if (Stored() || draft_.type == "BlockRemoved") {
      event.kind = Stored() ? KvEventKind::kStored : KvEventKind::kRemoved;
      if (!draft_.whole) return Fail("an event has no block_hashes");
      // vLLM's offloading names the blocks of the host without a size.
      const bool on_gpu = event.medium.empty() || event.medium == "GPU";
      const bool sized = event.block_size >= (on_gpu ? 1 : 0) && event.block_size <= (1 << 20);
      if (Stored() && !event.blocks.empty() && !sized) return Fail("an event has no possible block_size");
    } else {
      ++batch_.unknown;
      return true;
    }
    batch_.events.push_back(std::move(event));
    return true;
  }

  std::vector<Level> levels_;
  Draft draft_;
  KvBatch batch_;
  std::string fault_;
};

}  // namespace

absl::StatusOr<KvBatch> DecodeKvBatch(absl::string_view bytes) {
  if (bytes.size() > kMostBatchBytes) return absl::InvalidArgumentError("it is too large");
  BatchReader reader;
  const bool read = Json::sax_parse(bytes.begin(), bytes.end(), &reader, Json::input_format_t::msgpack);
  if (!read) return absl::InvalidArgumentError(reader.fault().empty() ? "it is no msgpack" : reader.fault());
  return reader.TakeBatch();
}

std::string EncodeKvBatch(const KvBatch& batch) {
  Json events = Json::array();
  for (const KvEvent& event : batch.events) {
    Json& out = events.emplace_back(Json::object());
    if (event.kind == KvEventKind::kCleared) {
      out["type"] = "AllBlocksCleared";
      continue;
    }
    const bool stored = event.kind == KvEventKind::kStored;
    out = {{"type", stored ? "BlockStored" : "BlockRemoved"}, {"block_hashes", event.blocks}};
    out["medium"] = event.medium.empty() ? Json() : Json(event.medium);
    if (event.group) out["group_idx"] = *event.group;
    if (!stored) continue;
    out["parent_block_hash"] = event.parent ? Json(*event.parent) : Json();
    out["block_size"] = event.block_size;
    out["token_ids"] = Json::array();
    if (!event.session.empty()) out["session_id"] = event.session;
  }
  Json whole = Json::array({batch.time, std::move(events)});
  if (batch.rank) whole.push_back(*batch.rank);
  std::string bytes;
  Json::to_msgpack(whole, bytes);
  return bytes;
}

}  // namespace penstock
