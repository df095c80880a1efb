#include "router/policies/kit/length_history.h"

#include <algorithm>

#include "router/policies/kit/draw.h"

namespace penstock {
namespace {

constexpr size_t kStandIns = 20;

}  // namespace

LengthHistory::LengthHistory(size_t window)
    : window_(window),
      stand_ins_(std::min(kStandIns, window)),
      by_age_(stand_ins_, kAssumedOutput),
      sorted_(stand_ins_, kAssumedOutput),
      sum_(static_cast<int64_t>(stand_ins_) * kAssumedOutput) {}

void LengthHistory::Observe(int64_t length) {
  if (stand_ins_ > 0 || by_age_.size() >= window_) {
    const int64_t oldest = by_age_.front();
    by_age_.pop_front();
    sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), oldest));
    sum_ -= oldest;
    if (stand_ins_ > 0) --stand_ins_;
  }
  by_age_.push_back(length);
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), length), length);
  sum_ += length;
}

double LengthHistory::Mean() const { return static_cast<double>(sum_) / static_cast<double>(sorted_.size()); }

double LengthHistory::Median() const { return static_cast<double>(sorted_[sorted_.size() / 2]); }

double LengthHistory::Draw(bench::Generator& random) const {
  return static_cast<double>(sorted_[DrawBelow(sorted_.size(), random)]);
}

double LengthHistory::DrawAbove(double given, double cap, bench::Generator& random) const {
  const auto above = std::upper_bound(sorted_.begin(), sorted_.end(), static_cast<int64_t>(given));
  const auto count = static_cast<double>(sorted_.end() - above);
  const bool capped = sorted_.back() < cap && given < cap;
  // The knots are `given`, the lengths above it, and the cap where it is higher still.
  const double point = random.Uniform() * (count + (capped ? 1 : 0));
  const auto position = static_cast<int64_t>(point);
  const auto knot = [&](int64_t i) {
    if (i == 0) return given;
    return static_cast<double>(i) > count ? std::max(given, cap) : static_cast<double>(*(above + (i - 1)));
  };
  if (count == 0 && !capped) return given;
  const double left = knot(position);
  return std::min(std::max(given, cap), left + (knot(position + 1) - left) * (point - static_cast<double>(position)));
}

}  // namespace penstock
