#include "router/core/tenants/service_ledger.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

// Tenants whose excuse is looked at: an enumeration tries no more heads.
constexpr int kHeadsAsked = 16;
// Of the idle tenants, by each change: more than can become idle by one.
constexpr int kForgottenAtOnce = 2;
// The part of the largest charge that rounding may take the sum of charges below zero.
constexpr double kRounding = 1e-6;
constexpr double kNoBound = std::numeric_limits<double>::infinity();

double MostOwed(const FairnessSpec& spec) {
  if (spec.mode != FairnessMode::kLeads) return kNoBound;
  return FairTerms::kMostOwed * (spec.unit == ServiceUnit::kMemory ? FairTerms::kMemorySeconds : 1);
}

}  // namespace

void ServiceLedger::Configure() {
  if (terms_->spec() != spec_) {
    waiting_.clear();
    fulfilled_.clear();
    idle_.clear();
    accounts_.clear();
    level_ = largest_ = weights_ = promised_ = 0;
    running_ = {};
    open_ = 0;
    ++books_;
    spec_ = terms_->spec();
  }
  weights_ = 0;
  for (auto& [tenant, account] : accounts_) account->weight = terms_->WeightOf(tenant);
  for (const TenantAccount* account : waiting_) weights_ += account->weight;
}

TenantAccount& ServiceLedger::Open(TenantId tenant) {
  std::unique_ptr<TenantAccount>& account = accounts_[tenant];
  if (account == nullptr) {
    account = std::make_unique<TenantAccount>();
    account->tenant = tenant;
    account->weight = terms_->WeightOf(tenant);
    account->stamp = ++clock_;
    account->known = terms_->Knows(tenant);
  } else if (!account->waits && account->open == 0) {
    idle_.erase({account->idle_since, tenant});
  }
  return *account;
}

const TenantAccount* ServiceLedger::Find(TenantId tenant) const {
  const auto found = accounts_.find(tenant);
  return found == accounts_.end() ? nullptr : found->second.get();
}

TenantRank ServiceLedger::RankOf(double counter, uint64_t later, const TenantHead& head) const {
  if (spec_.mode == FairnessMode::kLeads && counter >= promised_) {
    return {kNoBound, head.place.nanoseconds(), head.sequence};
  }
  return {counter, static_cast<int64_t>(later), head.sequence};
}

double ServiceLedger::Least(const TenantRank& rank) const { return std::isinf(rank.level) ? promised_ : rank.level; }

double ServiceLedger::Floor() const {
  if (spec_.mode == FairnessMode::kLeads) return promised_;
  return waiting_.empty() ? level_ : (*waiting_.begin())->counter;
}

void ServiceLedger::Promise(const TenantAccount& served, double service) {
  if (spec_.mode != FairnessMode::kLeads) return;
  promised_ += kGuaranteed * service / (weights_ + (served.waits ? 0 : served.weight));
  while (!fulfilled_.empty() && fulfilled_.begin()->first < promised_) {
    TenantAccount& behind = *accounts_.at(fulfilled_.begin()->second);
    Unplace(behind);
    Place(behind);
  }
}

double ServiceLedger::CounterOf(TenantId tenant, double service) const {
  const TenantAccount* account = Find(tenant);
  if (account != nullptr && account->waits) return account->counter;
  const double request = service / terms_->WeightOf(tenant);
  const bool known = account == nullptr ? terms_->Knows(tenant) : account->known;
  const double floor = Floor();
  return std::clamp(account == nullptr ? 0 : account->counter, floor - (known ? request : 0), floor + request);
}

void ServiceLedger::RaiseLeads(absl::flat_hash_map<TenantId, double>& leads) const {
  if (waiting_.empty()) return;
  const double floor = Floor();
  for (const auto& [tenant, account] : accounts_) {
    if (account->counter <= floor) continue;
    double& lead = leads[tenant];
    lead = std::max(lead, account->counter - floor);
  }
}

const TenantAccount* ServiceLedger::Behind() const {
  if (waiting_.size() < 2) return nullptr;
  int looked = 0;
  for (const TenantAccount* account : waiting_) {
    if (++looked > kHeadsAsked) break;
    if (!account->head.excused) return account;
  }
  return nullptr;
}

void ServiceLedger::Place(TenantAccount& account) {
  account.rank = RankOf(account.counter, account.stamp, account.head);
  waiting_.insert(&account);
  if (std::isinf(account.rank.level)) fulfilled_.insert({account.counter, account.tenant});
}

void ServiceLedger::Unplace(TenantAccount& account) {
  waiting_.erase(&account);
  if (std::isinf(account.rank.level)) fulfilled_.erase({account.counter, account.tenant});
}

void ServiceLedger::SetHead(TenantId tenant, const TenantHead& head) {
  const double counter = CounterOf(tenant, head.service);
  TenantAccount& account = Open(tenant);
  if (account.waits) Unplace(account);
  if (!account.waits) weights_ += account.weight;
  account.waits = true;
  account.counter = counter;
  account.head = head;
  Place(account);
}

void ServiceLedger::ClearHead(TenantId tenant) {
  TenantAccount& account = *accounts_.at(tenant);
  Unplace(account);
  account.waits = false;
  weights_ = waiting_.empty() ? 0 : weights_ - account.weight;
  if (waiting_.empty()) level_ = std::max(level_, account.counter);
  Rest(account);
}

TenantCharge ServiceLedger::Charge(TenantId tenant, double service, bool queued, Instant now) {
  now_ = std::max(now_, now);
  const double counter = CounterOf(tenant, service);
  TenantAccount& account = Open(tenant);
  if (account.waits) Unplace(account);
  if (!queued) account.counter = counter;
  if (waiting_.empty()) level_ = std::max(level_, account.counter);
  TenantCharge charge{service, service / account.weight, account.counter};
  account.counter = std::min(account.counter + charge.running, promised_ + MostOwed(spec_));
  charge.moved = account.counter - charge.moved;
  account.stamp = ++clock_;
  account.served_at = now_;
  account.known = true;
  ++account.open;
  ++open_;
  running_ += {charge.service, charge.running};
  largest_ = std::max(largest_, charge.running);
  terms_->Count(tenant, service);
  if (account.waits) Place(account);
  Promise(account, service);
  return charge;
}

void ServiceLedger::Settle(TenantId tenant, const TenantCharge& charged, double used, Instant now) {
  now_ = std::max(now_, now);
  TenantAccount& account = *accounts_.at(tenant);
  if (account.waits) Unplace(account);
  // The ledger does not give back the part that the bound cut off.
  account.counter = std::min(account.counter + used / account.weight - charged.moved, promised_ + MostOwed(spec_));
  --account.open;
  --open_;
  running_ += {-charged.service, -charged.running};
  if (open_ == 0) running_ = {};
  if (open_ == 0) largest_ = 0;
  terms_->Count(tenant, used - charged.service);
  if (account.waits) Place(account);
  Rest(account);
}

void ServiceLedger::Rest(TenantAccount& account) {
  if (!account.waits && account.open == 0) {
    account.idle_since = now_;
    idle_.insert({now_, account.tenant});
  }
  for (int i = 0; i < kForgottenAtOnce && !idle_.empty(); ++i) {
    const auto oldest = idle_.begin();
    if (oldest->first + kRemembered > now_ && idle_.size() <= kMostIdle) return;
    accounts_.erase(oldest->second);
    idle_.erase(oldest);
  }
}

bool ServiceLedger::SumsHold() const {
  int64_t open = 0;
  size_t waiting = 0;
  size_t idle = 0;
  for (const auto& [tenant, account] : accounts_) {
    open += account->open;
    waiting += account->waits ? 1 : 0;
    idle += !account->waits && account->open == 0 ? 1 : 0;
  }
  return open == open_ && waiting == waiting_.size() && idle == idle_.size() &&
         running_.over_weights >= -kRounding * largest_;
}

}  // namespace penstock
