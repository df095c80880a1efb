// The length of a sound from the header of its file, or from its bytes. Pure; no sound is decoded.
#ifndef PENSTOCK_KVMODEL_SOUND_LENGTH_H_
#define PENSTOCK_KVMODEL_SOUND_LENGTH_H_

#include "kvmodel/prompt/encoded_bytes.h"

namespace penstock {

// Seconds. A WAV file names its bytes per second, an MP3 file its bit rate. Other formats are taken for 64 kbit/s, the
// usual rate of speech. Never negative.
double SecondsOfSound(const EncodedBytes& file);

}  // namespace penstock

#endif  // PENSTOCK_KVMODEL_SOUND_LENGTH_H_
