#include "router/live/connection_set.h"

#include <utility>
#include <vector>

namespace penstock {

ConnectionSet::ConnectionSet(std::function<void()> on_empty) : on_empty_(std::move(on_empty)) {}

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
  connection.idle_since_ = now;
  connection.older_ = newest_;
  (newest_ != nullptr ? newest_->newer_ : oldest_) = &connection;
  newest_ = &connection;
  PublishOldest();
}

void ConnectionSet::SetBusy(LoopConnection& connection) {
  if (connection.idle_since_ == Instant::Never()) return;
  connection.idle_since_ = Instant::Never();
  (connection.older_ != nullptr ? connection.older_->newer_ : oldest_) = connection.newer_;
  (connection.newer_ != nullptr ? connection.newer_->older_ : newest_) = connection.older_;
  connection.older_ = nullptr;
  connection.newer_ = nullptr;
  PublishOldest();
}

void ConnectionSet::PublishOldest() {
  const Instant since = oldest_ != nullptr ? oldest_->idle_since_ : Instant::Never();
  oldest_idle_.store(since.nanoseconds(), std::memory_order_relaxed);
}

bool ConnectionSet::CloseOldestIdle() {
  if (oldest_ == nullptr) return false;
  LoopConnection& closed = *oldest_;
  SetBusy(closed);
  closed.Close();
  return true;
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
