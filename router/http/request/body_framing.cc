#include "router/http/request/body_framing.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"

namespace penstock {
namespace {

// The line of a chunk may be so long without a look at the size of the chunk.
constexpr size_t kFreeLine = 16;

constexpr absl::string_view kTokenMarks = "!#$%&'*+-.^_`|~";

bool IsTokenByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || kTokenMarks.find(c) != absl::string_view::npos;
}

// A byte of a value: visible, a space, a tab, or beyond ASCII.
bool IsValueByte(char c) { return c == '\t' || !absl::ascii_iscntrl(static_cast<unsigned char>(c)); }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

BodyFraming BodyFraming::OfLength(uint64_t length, const Limits& limits) {
  BodyFraming framing;
  framing.limits_ = limits;
  framing.left_ = length;
  framing.state_ = length > 0 ? State::kLength : State::kDone;
  if (length > limits.body) framing.Fail(Fault::kBodyTooLarge);
  return framing;
}

BodyFraming BodyFraming::InChunks(const Limits& limits) {
  BodyFraming framing;
  framing.limits_ = limits;
  framing.state_ = State::kFirstDigit;
  return framing;
}

absl::string_view BodyFraming::Next(absl::string_view& input) {
  while (fault_ == Fault::kNone && state_ != State::kDone && !input.empty()) {
    if (state_ == State::kLength || state_ == State::kData) {
      const absl::string_view piece = input.substr(0, static_cast<size_t>(std::min<uint64_t>(left_, input.size())));
      input.remove_prefix(piece.size());
      left_ -= piece.size();
      if (left_ == 0) state_ = state_ == State::kLength ? State::kDone : State::kDataReturn;
      return piece;
    }
    TakeFraming(input.front());
    input.remove_prefix(1);
  }
  return {};
}

void BodyFraming::TakeFraming(char c) {
  switch (state_) {
    case State::kFirstDigit:
    case State::kDigit:
    case State::kGap:
    case State::kExtension:
      TakeLineByte(c);
      break;
    case State::kLineEnd:
      EndLine(c);
      break;
    case State::kDataReturn:
      Expect(c, '\r', State::kDataEnd);
      break;
    case State::kDataEnd:
      Expect(c, '\n', State::kFirstDigit);
      break;
    case State::kTrailerStart:
    case State::kTrailerName:
    case State::kTrailerValue:
    case State::kTrailerEnd:
    case State::kLastEnd:
      TakeTrailerByte(c);
      break;
    case State::kDone:
    case State::kLength:
    case State::kData:
      break;
  }
}

void BodyFraming::Expect(char c, char wanted, State next) {
  if (c != wanted) return Fail(Fault::kMalformed);
  state_ = next;
}

void BodyFraming::TakeLineByte(char c) {
  if (++line_ > kMaxChunkLine) return Fail(Fault::kLineTooLong);
  if (state_ == State::kExtension) {
    if (c == '\r') {
      state_ = State::kLineEnd;
    } else if (!IsValueByte(c)) {
      Fail(Fault::kMalformed);
    }
    return;
  }
  if (state_ != State::kGap && HexValue(c) >= 0) return TakeDigit(c);
  if (state_ == State::kFirstDigit) return Fail(Fault::kMalformed);
  if (c == ';') {
    state_ = State::kExtension;
  } else if (c == ' ' || c == '\t') {
    state_ = State::kGap;
  } else {
    Expect(state_ == State::kGap ? '\0' : c, '\r', State::kLineEnd);
  }
}

void BodyFraming::TakeDigit(char c) {
  if (left_ > std::numeric_limits<uint64_t>::max() / 16) return Fail(Fault::kMalformed);
  left_ = left_ * 16 + static_cast<uint64_t>(HexValue(c));
  state_ = State::kDigit;
}

void BodyFraming::EndLine(char c) {
  if (c != '\n') return Fail(Fault::kMalformed);
  if (left_ > limits_.body - body_) return Fail(Fault::kBodyTooLarge);
  body_ += left_;
  excess_ += line_;
  excess_ -= static_cast<size_t>(std::min<uint64_t>(excess_, kFreeLine + 2 * left_));
  if (excess_ > kMaxExcess) return Fail(Fault::kExcess);
  line_ = 0;
  state_ = left_ > 0 ? State::kData : State::kTrailerStart;
}

void BodyFraming::TakeTrailerByte(char c) {
  if (++trailers_ > limits_.trailers) return Fail(Fault::kTrailersTooLarge);
  if (state_ == State::kTrailerEnd) {
    Expect(c, '\n', State::kTrailerStart);
  } else if (state_ == State::kLastEnd) {
    Expect(c, '\n', State::kDone);
  } else if (state_ == State::kTrailerStart && c == '\r') {
    state_ = State::kLastEnd;
  } else if (state_ == State::kTrailerValue) {
    if (c == '\r') {
      state_ = State::kTrailerEnd;
    } else if (!IsValueByte(c)) {
      Fail(Fault::kMalformed);
    }
  } else if (state_ == State::kTrailerName && c == ':') {
    state_ = State::kTrailerValue;
  } else if (IsTokenByte(c)) {
    state_ = State::kTrailerName;
  } else {
    Fail(Fault::kMalformed);
  }
}

}  // namespace penstock
