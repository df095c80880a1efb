#include "router/openai/answer/client_pieces.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {

void ClientPieces::Clear() {
  views_.clear();
  made_.clear();
}

void ClientPieces::Pass(absl::string_view raw) {
  if (!views_.empty() && views_.back().data() + views_.back().size() == raw.data()) {
    views_.back() = absl::string_view(views_.back().data(), views_.back().size() + raw.size());
  } else {
    views_.push_back(raw);
  }
}

void ClientPieces::PassMade(std::string event) {
  made_.push_back(std::move(event));
  views_.push_back(made_.back());
}

void ClientPieces::Release(absl::string_view fingerprint) {
  if (held_.empty()) return;
  const size_t end = held_.rfind('}');
  if (!fingerprint.empty() && end != std::string::npos) {
    held_.insert(end, absl::StrCat(",\"system_fingerprint\":", fingerprint));
  }
  PassMade(std::exchange(held_, std::string()));
}

}  // namespace penstock
