#include "router/live/connection_set.h"

#include <utility>
#include <vector>

namespace penstock {

ConnectionSet::ConnectionSet(std::function<void()> on_empty) : on_empty_(std::move(on_empty)) {}

void ConnectionSet::Leave(LoopConnection& connection) {
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
