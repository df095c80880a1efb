#include "router/live/connection_set.h"

#include <utility>
#include <vector>

namespace penstock {

void ConnectionList::Add(LoopConnection& connection, Instant now) {
  connection.since_ = now;
  connection.list_ = this;
  connection.older_ = newest_;
  (newest_ != nullptr ? newest_->newer_ : oldest_) = &connection;
  newest_ = &connection;
  Publish();
}

void ConnectionList::Remove(LoopConnection& connection) {
  (connection.older_ != nullptr ? connection.older_->newer_ : oldest_) = connection.newer_;
  (connection.newer_ != nullptr ? connection.newer_->older_ : newest_) = connection.older_;
  connection.older_ = nullptr;
  connection.newer_ = nullptr;
  connection.list_ = nullptr;
  Publish();
}

LoopConnection* ConnectionList::OldestOf(uint64_t owner) const {
  LoopConnection* connection = oldest_;
  for (int looked = 0; connection != nullptr && looked < kMostLooked; ++looked) {
    if (connection->owner_ == owner) return connection;
    connection = connection->newer_;
  }
  return nullptr;
}

void ConnectionList::Publish() {
  const Instant since = oldest_ != nullptr ? oldest_->since_ : Instant::Never();
  since_.store(since.nanoseconds(), std::memory_order_relaxed);
}

ConnectionSet::ConnectionSet(std::function<void()> on_empty) : on_empty_(std::move(on_empty)) {}

void ConnectionSet::Enter(LoopConnection& connection, uint64_t owner) {
  connection.owner_ = owner;
  connections_.insert(&connection);
}

void ConnectionSet::Leave(LoopConnection& connection) {
  SetBusy(connection);
  connections_.erase(&connection);
  TellIfEmpty();
}

void ConnectionSet::LeaveGuest() {
  --guests_;
  TellIfEmpty();
}

void ConnectionSet::TellIfEmpty() {
  if (empty()) on_empty_();
}

void ConnectionSet::SetIdle(LoopConnection& connection, Instant now) {
  SetBusy(connection);
  idle_.Add(connection, now);
}

void ConnectionSet::SetNew(LoopConnection& connection, Instant now) {
  SetBusy(connection);
  new_.Add(connection, now);
}

void ConnectionSet::SetBusy(LoopConnection& connection) {
  if (connection.list_ != nullptr) connection.list_->Remove(connection);
}

Instant ConnectionSet::oldest_new(Instant now) const {
  const Instant since = new_.since();
  return since != Instant::Never() && now - since >= kLongestNew ? since : Instant::Never();
}

bool ConnectionSet::CloseOldest(Instant now) {
  LoopConnection* closed = idle_.oldest();
  if (closed == nullptr && oldest_new(now) != Instant::Never()) closed = new_.oldest();
  if (closed == nullptr) return false;
  CloseWaiting(*closed);
  return true;
}

bool ConnectionSet::CloseOldestOf(uint64_t owner, Instant now) {
  LoopConnection* closed = idle_.OldestOf(owner);
  if (closed == nullptr) {
    closed = new_.OldestOf(owner);
    if (closed != nullptr && now - closed->since_ < kLongestNew) return false;
  }
  if (closed == nullptr) return false;
  CloseWaiting(*closed);
  return true;
}

void ConnectionSet::CloseWaiting(LoopConnection& connection) {
  SetBusy(connection);
  connection.Close();
}

void ConnectionSet::CloseIdle() {
  const std::vector<LoopConnection*> connections(connections_.begin(), connections_.end());
  for (LoopConnection* connection : connections) {
    if (connections_.contains(connection)) connection->CloseIfIdle();
  }
}

void ConnectionSet::CloseAll() {
  const std::vector<LoopConnection*> connections(connections_.begin(), connections_.end());
  for (LoopConnection* connection : connections) {
    if (connections_.contains(connection)) connection->Close();
  }
}

}  // namespace penstock
