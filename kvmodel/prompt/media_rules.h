// The tokens of pictures and sounds by the rules of the model families that read them. Pure.
//
// A rule gives the first estimate; usage then corrects it (MediaEstimator). The sources are the processors of Hugging
// Face's transformers. They lie in src/transformers/models: qwen2_vl (smart_resize), qwen3_vl, pixtral, mistral3,
// llava, gemma3 and llama4 (processing_llama4.py). picture_tiles.h names those of tiles. The rule of other models is
// the one of Anthropic's documentation.
#ifndef PENSTOCK_KVMODEL_MEDIA_RULES_H_
#define PENSTOCK_KVMODEL_MEDIA_RULES_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "kvmodel/prompt/picture_size.h"

namespace penstock {

enum class MediaFamily : uint8_t {
  kOther,      // Unknown: a token per 750 pixels.
  kQwen,       // Qwen2-VL, Qwen2.5-VL, Qwen-Omni: squares of 28 pixels.
  kQwen3,      // Qwen3-VL: squares of 32 pixels.
  kPixtral,    // Squares of 16 pixels, and the ends of their rows.
  kMistral,    // Mistral Small with pictures: squares of 28 pixels, and the ends of their rows.
  kLlava,      // LLaVA 1.5: a constant.
  kLlavaNext,  // LLaVA 1.6: tiles of 336 pixels, without empty borders.
  kOneVision,  // LLaVA OneVision: tiles of 384 pixels, without empty borders.
  kInternVl,   // Tiles of 448 pixels.
  kMiniCpm,    // MiniCPM-V: slices of 448 pixels.
  kGemma,      // Gemma 3: a constant.
  kLlama4,     // Tiles of 336 pixels.
  kUltravox,   // Sound only.
  kVoxtral,    // Sound only.
};
inline constexpr int kMediaFamilies = static_cast<int>(MediaFamily::kVoxtral) + 1;

// The family that the name of a model tells, whatever its case. Names that operators invent are kOther.
MediaFamily FamilyOf(absl::string_view model);

// At least one, at most 20,000.
int64_t PictureTokens(MediaFamily family, PictureSize size);
// The tokens of a picture whose size nobody knows: those of a photo of 1024 by 768.
int64_t UnsizedPictureTokens(MediaFamily family);
double SoundTokensPerSecond(MediaFamily family);

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_MEDIA_RULES_H_
