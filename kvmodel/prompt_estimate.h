// Prompt length in tokens from text alone, without a tokenizer, corrected online.
//
// The edge counts bytes by script in one pass over the request's strings (TextCounts); the estimator multiplies them
// by per-model coefficients that follow usage.prompt_tokens of finished requests, and gives a relative band.
// Goal: median error under 3 %, p95 under 10 % after 200 requests of a model. Not thread-safe; one owner.
#ifndef PENSTOCK_KVMODEL_PROMPT_ESTIMATE_H_
#define PENSTOCK_KVMODEL_PROMPT_ESTIMATE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "kvmodel/ids.h"
#include "kvmodel/units.h"

namespace penstock {

// What a prompt is made of. Bytes are of decoded text (JSON escapes resolved).
struct TextCounts {
  int64_t latin = 0;   // ASCII letters and Latin-1/Extended letters, bytes.
  int64_t script = 0;  // Letters of other alphabets (Greek, Cyrillic, Arabic, Indic, Thai ...), bytes.
  int64_t words = 0;   // Runs of letters: short words are one token whatever their length.
  int64_t digits = 0;
  int64_t space = 0;       // Spaces, tabs, line ends and control characters, bytes.
  int64_t cjk = 0;         // Characters (not bytes) of Chinese, Japanese, Korean, punctuation and full width included.
  int64_t other = 0;       // All other bytes: punctuation, symbols, emoji, what is not UTF-8.
  int64_t messages = 0;    // Chat messages: each costs template tokens.
  int64_t tool_bytes = 0;  // JSON bytes of tool schemas.
  int64_t images = 0;
  int64_t image_tokens = 0;     // Known from the image rule of the model, else 0.
  int64_t exact_tokens = 0;     // Prompt given as token ids: exact, added to the estimate of the text.
  bool unforecastable = false;  // Audio, video or remote images: the band is wide.

  TextCounts& operator+=(const TextCounts& other_counts);
  bool operator==(const TextCounts&) const = default;
};

// Counts decoded UTF-8 text. One pass, no allocation, about one byte per nanosecond. Bytes that are not UTF-8 count as
// `other`.
TextCounts CountText(absl::string_view utf8);
// Counts the inside of a JSON string literal (between the quotes), resolving escapes on the way: equals CountText of
// the decoded string. A lone surrogate counts as U+FFFD; a broken escape as the bytes it is written with.
TextCounts CountJsonString(absl::string_view raw);

struct PromptEstimate {
  Tokens tokens{0};
  double relative_sigma = 0.1;  // Of tokens. Exact inputs have 0.
  // The upper end of the band at one-sided 95 %.
  Tokens Upper() const;
};

// One linear model per served model: tokens = weights x features, fitted by recursive least squares on relative errors.
// Forgetting follows drift; no direction ever becomes less certain than at the start, weights stay between zero and a
// bound, and a surprise beyond three sigma moves a settled fit about as far as three would.
class PromptEstimator {
 public:
  PromptEstimator();

  // A model without observations starts from what the others have learned together, with a wider band. Never negative;
  // at least one token for any text.
  PromptEstimate Estimate(ModelId model, const TextCounts& counts) const;
  // Learns from the engine's count. Outliers beyond a factor of 8 only widen the band; 20 in a row start the fit anew.
  // Prompts that cannot be forecast, or that are given wholly as token ids, teach nothing.
  void Observe(ModelId model, const TextCounts& counts, Tokens actual);

 private:
  // Latin, script, words, digits, space, cjk, other, messages, tool bytes, images of unknown size, any text at all.
  static constexpr int kFeatures = 11;
  // Padded with zeros to an even number, which lets the compiler take several at a time.
  static constexpr int kLanes = 12;
  using Vector = std::array<double, kLanes>;
  using Matrix = std::array<Vector, kFeatures>;
  struct State {
    Vector weights;
    Matrix covariance;
    double squared_relative_error = 0.01;
    int64_t observations = 0;
    int outliers = 0;  // In a row.
  };
  static State Initial();
  static Vector Features(const TextCounts& counts);
  static void Learn(State& state, const Vector& features, double actual);
  static Vector Times(const Matrix& matrix, const Vector& vector);
  static void Correct(State& state, Vector scaled, double error, double noise);
  // Forgets what the error of one weight says of the others'.
  static void Separate(State& state, int feature);
  static void Forget(State& state);

  absl::flat_hash_map<ModelId, State> models_;
  State shared_;  // Learns from every model; once it is settled, from some of the requests.
};

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_PROMPT_ESTIMATE_H_
