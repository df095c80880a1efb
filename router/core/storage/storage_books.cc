#include "router/core/storage/storage_books.h"

#include <cassert>
#include <map>

#include "base/ids.h"
#include "router/core/contract/vacancy.h"

namespace penstock {
namespace {

// Empty: it has no node.
std::string NodeOfReplica(const ReplicaSpec& replica, const Fleet& fleet) {
  if (replica.removed || replica.gpus.empty() || replica.gpus.front() >= fleet.gpus.size()) return "";
  return std::string(NodeOf(fleet.gpus[replica.gpus.front()].name));
}

}  // namespace

void StorageBooks::Configure(const Fleet& fleet) {
  nodes_.clear();
  node_of_.assign(fleet.replicas.size(), std::nullopt);
  work_.resize(fleet.replicas.size());
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < fleet.replicas.size(); ++i) {
    const std::string name = NodeOfReplica(fleet.replicas[i], fleet);
    if (name.empty()) continue;
    const auto [entry, fresh] = known.try_emplace(name, nodes_.size());
    if (fresh) nodes_.push_back({name, {}});
    node_of_[i] = entry->second;
    nodes_[entry->second].replicas.push_back(i);
  }
  models_.resize(fleet.models.size());
  for (size_t i = 0; i < fleet.models.size(); ++i) {
    const ModelSpec& model = fleet.models[i];
    if (IsVacant(model)) models_[i] = Model();
    models_[i].configured = model.storage || (model.base && fleet.models[model.base->value()].storage);
  }
}

StorageNeed StorageBooks::NeedOf(const RequestArrived& request) const {
  if (request.storage != StorageNeed::kUnsaid) return request.storage;
  if (request.model.value() >= models_.size()) return StorageNeed::kNone;
  const Model& model = models_[request.model.value()];
  return model.configured || model.habit.needs() ? StorageNeed::kSome : StorageNeed::kNone;
}

void StorageBooks::Arrived(const RequestArrived& request, Instant now) {
  if (NeedOf(request) == StorageNeed::kHeavy) heavy_at_ = now;
}

StorageFit StorageBooks::FitOf(const RequestArrived& request, Instant now) const {
  const StorageNeed need = NeedOf(request);
  return {need, need == StorageNeed::kSome && heavy_at_ && now - *heavy_at_ <= kRemembered};
}

double StorageBooks::UnderWay(size_t replica) const {
  if (!node_of_[replica]) return static_cast<double>(work_[replica].thousandths) / 1000;
  int64_t sum = 0;
  for (const size_t each : nodes_[*node_of_[replica]].replicas) sum += work_[each].thousandths;
  return static_cast<double>(sum) / 1000;
}

int64_t StorageBooks::Requests(const Node& node) const {
  int64_t sum = 0;
  for (const size_t each : node.replicas) sum += work_[each].requests;
  return sum;
}

void StorageBooks::Begin(size_t replica, StorageNeed need) {
  if (StorageOf(need) == 0) return;
  work_[replica].thousandths += StorageOf(need);
  ++work_[replica].requests;
}

void StorageBooks::End(size_t replica, StorageNeed need) {
  if (StorageOf(need) == 0) return;
  work_[replica].thousandths -= StorageOf(need);
  --work_[replica].requests;
  assert(work_[replica].requests >= 0);
}

void StorageBooks::Learn(ModelId model, double late, double pressure) {
  if (model.value() < models_.size()) models_[model.value()].habit.Observe(late, pressure);
}

}  // namespace penstock
