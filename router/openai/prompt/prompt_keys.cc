#include "router/openai/prompt/prompt_keys.h"

#include <algorithm>
#include <iterator>

namespace penstock {
namespace {

constexpr absl::string_view kOnce[] = {"text",   "thinking",  "content",     "input",
                                       "source", "image_url", "input_audio", "audio_url"};

}  // namespace

// The length of a key decides first, so most keys are compared with one name.
PromptUse UseInMessage(absl::string_view key) {
  const auto use_if = [key](absl::string_view name, PromptUse use) { return key == name ? use : PromptUse::kNone; };
  switch (key.size()) {
    case 4:
      return key == "role" ? PromptUse::kRole : use_if("name", PromptUse::kText);
    case 5:
      return use_if("tools", PromptUse::kRaw);
    case 7:
      return use_if("content", PromptUse::kContent);
    case 9:
      return use_if("reasoning", PromptUse::kText);
    case 10:
      return use_if("tool_calls", PromptUse::kRaw);
    case 12:
      return use_if("tool_call_id", PromptUse::kText);
    case 13:
      return use_if("function_call", PromptUse::kRaw);
    case 17:
      return use_if("reasoning_content", PromptUse::kText);
    default:
      return PromptUse::kNone;
  }
}

PromptUse UseInItem(absl::string_view key) {
  if (key == "content" || key == "summary") return PromptUse::kContent;
  return key == "arguments" || key == "output" || key == "input" || key == "name" ? PromptUse::kRaw : PromptUse::kNone;
}

PromptUse UseInPart(absl::string_view key) {
  if (key == "text" || key == "refusal" || key == "output" || key == "thinking") return PromptUse::kText;
  if (key == "image_url") return PromptUse::kPicture;
  if (key == "detail") return PromptUse::kDetail;
  if (key == "input_audio" || key == "audio_url") return PromptUse::kSound;
  const bool unknown = key == "video_url" || key == "file" || key == "file_id" || key == "file_data" ||
                       key == "file_url" || key == "image_embeds" || key == "audio_embeds";
  return unknown ? PromptUse::kUnknownSize : PromptUse::kNone;
}

PromptUse UseInBlock(absl::string_view key) {
  if (key == "text" || key == "thinking" || key == "name") return PromptUse::kText;
  if (key == "title" || key == "context") return PromptUse::kText;
  if (key == "content") return PromptUse::kContent;
  if (key == "input") return PromptUse::kRaw;
  return key == "source" ? PromptUse::kSource : PromptUse::kNone;
}

PromptUse UseInElement(absl::string_view key) {
  if (key == "text" || key == "prompt_string") return PromptUse::kText;
  if (key == "content") return PromptUse::kContent;
  if (key == "image" || key == "image_url") return PromptUse::kPicture;
  if (key == "input_audio" || key == "audio_url") return PromptUse::kSound;
  const bool unknown = key == "video" || key == "video_url" || key == "audio" || key == "image_embeds" ||
                       key == "audio_embeds" || key == "multimodal_data";
  return unknown ? PromptUse::kUnknownSize : PromptUse::kRaw;
}

unsigned BitOfOnce(absl::string_view key) {
  const auto* const found = std::find(std::begin(kOnce), std::end(kOnce), key);
  return found == std::end(kOnce) ? 0 : 1U << static_cast<unsigned>(found - std::begin(kOnce));
}

}  // namespace penstock
