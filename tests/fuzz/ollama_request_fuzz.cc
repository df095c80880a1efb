// Requests of Ollama's dialect: what is translated is JSON, and slices make no difference. The input's first byte
// chooses their size.
#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/dialect/json_scanner.h"
#include "router/ollama/answer_writer.h"
#include "router/ollama/request_builder.h"
#include "router/openai/request/json_walk.h"
#include "tests/fuzz/expect.h"

namespace {

using penstock::JsonWalk;
using namespace penstock::ollama;

bool IsObject(absl::string_view text) {
  penstock::JsonScanner scanner(text);
  return scanner.WholeObject([&scanner](absl::string_view) { return scanner.Skip(); });
}

// Empty: it is refused.
std::string Translated(Call call, absl::string_view body, size_t slice) {
  RequestFields fields(body);
  JsonWalk walk(body);
  JsonWalk::Progress progress = JsonWalk::Progress::kPaused;
  while (progress == JsonWalk::Progress::kPaused) progress = walk.Run(fields, slice);
  if (progress != JsonWalk::Progress::kDone) return "";
  RequestBuilder builder(call, fields);
  std::string model, made;
  if (builder.ReadModel(&model) || builder.Begin(model)) return "";
  while (!builder.planned()) {
    if (builder.Plan()) return "";
  }
  while (!builder.Advance(made)) continue;
  Expect(made.size() == builder.size(), "the size is known before");
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t slice = 1 + data[0] % 64;
  const absl::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (const Call call : {Call::kChat, Call::kGenerate}) {
    const std::string whole = Translated(call, body, size);
    Expect(whole == Translated(call, body, slice), "slices make no difference");
    Expect(whole.empty() || IsObject(whole), "a translation is JSON");
    AnswerWriter writer(call, "m", penstock::Instant());
    std::string lines;
    writer.Event(body, "", penstock::Instant(), lines);
    writer.End("", penstock::Instant(), lines);
    const std::string answer = writer.Whole(body, "", penstock::Instant());
    if (IsObject(body)) Expect(IsObject(answer), "an answer is JSON");
  }
  return 0;
}
