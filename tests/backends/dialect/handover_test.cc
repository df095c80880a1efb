#include "backends/dialect/handover/handover.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

using Kind = HandoverOffer::Kind;

HandoverOffer OfferIn(const std::string& params) {
  return ReadHandover("{\"id\":\"x\",\"kv_transfer_params\":" + params + ",\"usage\":{}}");
}

TEST(Handover, AnOfferPassesAsItStands) {
  const std::string params =
      "{ \"do_remote_prefill\" :true,\"do_remote_decode\":false, \"remote_block_ids\":[[1, 2]],\"more\":{\"a\":1e3}}";
  const HandoverOffer offer = OfferIn(params);
  EXPECT_EQ(offer.kind, Kind::kGood);
  EXPECT_EQ(offer.params, params);
}

TEST(Handover, AnAnswerWithoutParamsOffersNothing) {
  EXPECT_EQ(ReadHandover("{\"id\":\"x\"}").kind, Kind::kNone);
  EXPECT_EQ(OfferIn("null").kind, Kind::kNone);
}

TEST(Handover, WhatIsNoOfferForADecodeEngineIsFalse) {
  for (const char* params :
       {"[]", "7", "true", "\"{}\"", "{}", "{\"do_remote_prefill\":false}", "{\"do_remote_prefill\":\"true\"}",
        "{\"do_remote_prefill\":1}", "{\"do_remote_prefill\":true,\"do_remote_decode\":true}",
        "{\"do_remote_prefill\":true,\"do_remote_decode\":1}",
        "{\"do_remote_prefill\":true,\"do_remote_prefill\":false}",
        "{\"do_remote_prefill\":true,\"do_remote_decode\":false,\"do_remote_decode\":false}",
        "{\"do_remote_prefill\":true,\"do_remote_d\\u0065code\":true}"}) {
    const HandoverOffer offer = OfferIn(params);
    EXPECT_EQ(offer.kind, Kind::kFalse) << params;
    EXPECT_TRUE(offer.params.empty()) << params;
  }
}

TEST(Handover, TwoFieldsAreNoOffer) {
  const std::string good = "{\"do_remote_prefill\":true}";
  const std::string twice = "{\"kv_transfer_params\":" + good + ",\"kv_transfer_params\":" + good + "}";
  EXPECT_EQ(ReadHandover(twice).kind, Kind::kFalse);
  EXPECT_EQ(ReadHandover("{\"kv_transfer_params\":null,\"kv_transfer_params\":null}").kind, Kind::kFalse);
}

TEST(Handover, TheOrderIsOneObject) {
  EXPECT_EQ(kPrefillOrder.front(), '{');
  EXPECT_EQ(ReadHandover("{\"kv_transfer_params\":" + std::string(kPrefillOrder) + "}").kind, Kind::kFalse)
      << "an engine that sends the order back offers nothing";
}

}  // namespace
}  // namespace penstock
