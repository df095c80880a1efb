// Results of tools, images and documents, as a chat has them.
#include "absl/strings/str_cat.h"
#include "router/anthropic/chat_request.h"

namespace penstock::anthropic {

// Images of a result follow in the message of the user. A chat has no mark for a failed call, so its text tells it.
void ChatRequest::AddResult(const Turn& turn, size_t block) {
  const std::vector<Block>& blocks = fields_.blocks();
  const JsonSpan id = blocks[block].At(Part::kToolUseId), content = blocks[block].At(Part::kContent);
  const JsonSpan failed = blocks[block].At(Part::kIsError);
  if (!IsText(id)) return Refuse(ErrorName::kWrongType, Name(&turn, block, "tool_use_id"), "must be a string.");
  out_.Add(any_turn_ ? ",{\"role\":\"tool\",\"tool_call_id\":" : "{\"role\":\"tool\",\"tool_call_id\":");
  any_turn_ = true;
  out_.Add(id);
  out_.Add(",\"content\":\"");
  if (failed.size() > 0 && fields_.ValueIn(failed).kind() != JsonKind::kBool) {
    return Refuse(ErrorName::kWrongType, Name(&turn, block, "is_error"), "must be true or false.");
  }
  if (failed.size() > 0 && fields_.ValueIn(failed).IsTrue()) out_.Add("Error: ");
  if (IsText(content)) {
    out_.AddInside(content);
  } else if (content.size() > 0 && fields_.ValueIn(content).kind() != JsonKind::kArray) {
    return Refuse(ErrorName::kWrongType, Name(&turn, block, "content"), "must be a text or a list of blocks.");
  } else {
    size_t end = block + 1;
    while (end < turn.end && blocks[end].inner) ++end;
    AddTexts(&turn, block + 1, end, /*inner=*/true, kBetweenLines);
  }
  out_.Add("\"}");
}

void ChatRequest::AddMedia(const Turn& turn, size_t block) {
  const Block& media = fields_.blocks()[block];
  const std::string type = fields_.Word(media.At(SourcePart::kType));
  const JsonSpan data = media.At(SourcePart::kData), url = media.At(SourcePart::kUrl);
  const bool image = fields_.Word(media.At(Part::kType)) == "image";
  if (image && type == "base64" && IsText(data) && IsText(media.At(SourcePart::kMediaType))) {
    out_.Add("{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:");
    out_.AddInside(media.At(SourcePart::kMediaType));
    out_.Add(";base64,");
    out_.AddInside(data);
    out_.Add("\"}}");
  } else if (image && type == "url" && IsText(url)) {
    out_.Add("{\"type\":\"image_url\",\"image_url\":{\"url\":");
    out_.Add(url);
    out_.Add("}}");
  } else if (!image && type == "text" && IsText(data)) {
    out_.Add("{\"type\":\"text\",\"text\":\"");
    for (const Part part : {Part::kTitle, Part::kContext}) {
      const JsonSpan words = media.At(part);
      if (words.size() == 0) continue;
      if (!IsText(words)) return Refuse(ErrorName::kWrongType, Name(&turn, block, NameOf(part)), "must be a string.");
      out_.AddInside(words);
      out_.Add(kBetweenLines);
    }
    out_.AddInside(data);
    out_.Add("\"}");
  } else {
    Refuse(ErrorName::kUnsupportedField, Name(&turn, block, "source"),
           image ? "must be base64 or a URL: the engine's own dialect has no other images."
                 : "must be plain text: the engine's own dialect has no other documents.");
  }
}

}  // namespace penstock::anthropic
