#include "backends/simulated/handover/cache_words.h"

#include <algorithm>
#include <vector>

namespace penstock::simulated {
namespace {

using nlohmann::json;

constexpr uint64_t kMostPort = 65'535;

bool Is(const json& params, const char* field) {
  const auto found = params.find(field);
  return found != params.end() && found->is_boolean() && found->get<bool>();
}

std::optional<std::string> Text(const json& params, const char* field) {
  const auto found = params.find(field);
  if (found == params.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<CachePlace> PlaceIn(const json& params) {
  const auto host = Text(params, "remote_host");
  const auto engine = Text(params, "remote_engine_id");
  const auto request = Text(params, "remote_request_id");
  const auto port = params.find("remote_port");
  const auto blocks = params.find("remote_block_ids");
  const bool whole = host && engine && request && port != params.end() && port->is_number_unsigned() &&
                     port->get<uint64_t>() <= kMostPort && blocks != params.end() && blocks->is_array() &&
                     !blocks->empty();
  if (!whole) return std::nullopt;
  return CachePlace{*host, port->get<uint16_t>(), *engine, *request};
}

}  // namespace

CacheOrder ReadCacheOrder(const json& params) {
  CacheOrder order;
  order.keeps = Is(params, "do_remote_decode");
  if (Is(params, "do_remote_prefill")) order.fetches = PlaceIn(params);
  return order;
}

json CacheOffer(const CachePlace& place, Tokens tokens, Tokens block, Tokens cached) {
  std::vector<int64_t> blocks(static_cast<size_t>((tokens.value() + block.value() - 1) / block.value()));
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<int64_t>(i + 1);
  return {{"do_remote_prefill", true},
          {"do_remote_decode", false},
          {"remote_block_ids", json::array({blocks})},
          {"remote_engine_id", place.engine},
          {"remote_request_id", place.request},
          {"remote_host", place.host},
          {"remote_port", place.port},
          {"tp_size", 1},
          {"remote_num_tokens", tokens.value()},
          {"remote_prefill_cached_tokens", cached.value()}};
}

}  // namespace penstock::simulated
