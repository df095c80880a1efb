// The meaning of a whole answer, without a stream.
#ifndef PENSTOCK_BACKENDS_DIALECT_ANSWER_READER_H_
#define PENSTOCK_BACKENDS_DIALECT_ANSWER_READER_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "backends/dialect/endpoint.h"
#include "backends/dialect/json_scanner.h"
#include "backends/dialect/usage.h"

namespace penstock {

struct AnswerFacts {
  std::optional<Usage> usage;
  std::string finish_reason;  // The reason of the first choice; "length" when any choice has it.
  std::string status;         // Of a response, if it is a short word. Empty: none.
  bool choices = false;       // It has a choice, as every answer of a chat or a completion has.
  bool error = false;         // It is an error, although its status is 200.
  // The answer is neither an object in UTF-8 nor one of BareAnswers(). All else is at its default.
  bool malformed = false;
};

// Reads an answer piece by piece, as the pieces come. It stores a few bytes only: the values that it looks for.
//
// The grammar is that of JsonScanner, and the library simdjson checks UTF-8. A cut may lie anywhere. Pure; one owner,
// not thread-safe. Text costs about 0.5 ns per byte, punctuation 5 ns.
class AnswerScan {
 public:
  explicit AnswerScan(Endpoint endpoint) : endpoint_(endpoint) {}

  // The next bytes. False: the answer is malformed, whatever follows.
  bool Feed(absl::string_view piece);
  // After the last piece.
  AnswerFacts Finish();

 private:
  static constexpr int kMaxDepth = JsonScanner::kMaxDepth;

  enum class Expected : uint8_t {
    kBody,      // The outermost value.
    kValue,     // Any value.
    kKey,       // The quote of a key.
    kColon,     //
    kFirst,     // The first item of a container, or its end.
    kNext,      // A comma or the end of a container.
    kInString,  // More of a string, or its quote.
    kInKey,     // More of a key, or its quote.
    kLiteral,   // More of null, true or false.
    kNumber,    // More of a number, or what follows it.
    kNothing,   // Only space.
  };
  // The place of the scan in the text.
  struct Place {
    const char* at = nullptr;  // In the present piece.
    const char* end = nullptr;
    Expected expected = Expected::kBody;
    bool escape = false;        // A backslash came, and its character did not.
    absl::string_view literal;  // Its rest.
    int depth = 0;
    std::bitset<kMaxDepth + 1> objects;
  };
  enum class Part : uint8_t { kNone, kKey, kUsage, kStatus, kFinish, kError, kObject };
  // The bytes of a key or a value that count.
  struct Kept {
    Part part = Part::kNone;
    int depth = 0;               // The depth of the value.
    const char* from = nullptr;  // Its bytes of the present piece begin here.
    std::string text;            // Its bytes of earlier pieces.
  };
  enum class Choices : uint8_t { kElsewhere, kNext, kInside };

  bool InObject() const { return place_.objects[static_cast<size_t>(place_.depth)]; }
  bool Walk();
  // Takes a character that is neither space nor the inside of a string, a number or a literal.
  bool Take(char c);
  bool ReadString();
  bool ReadLiteral();
  bool ReadNumber();
  bool BeginKey();
  void EndKey(absl::string_view key);
  bool BeginValue(char c);
  bool EndValue();
  bool Open(char c);
  bool Close();
  void Keep(Part part);
  // Stores the bytes that count for the next piece.
  void CarryOver();
  // The bytes that count, up to `end`.
  absl::string_view KeptUpTo(const char* end);
  bool ReadPart(Part part, absl::string_view raw);
  bool CheckEncoding(absl::string_view piece);

  const Endpoint endpoint_;
  Place place_;
  Kept kept_;
  Part next_ = Part::kNone;  // The value behind the present key.
  Choices choices_ = Choices::kElsewhere;
  std::string cut_;  // The first bytes of a character that the last piece cut.
  AnswerFacts facts_;
  bool bad_ = false;
};

// A whole answer at once, in half the time.
AnswerFacts ReadAnswer(Endpoint endpoint, absl::string_view body);

}  // namespace penstock

#endif  // PENSTOCK_BACKENDS_DIALECT_ANSWER_READER_H_
