#include "router/core/storage/storage_books.h"

#include <gtest/gtest.h>

#include "tests/core/core_test_support.h"

namespace penstock::testing {
namespace {

Fleet FleetOfNodes() {
  Fleet fleet = MakeFleet({.replicas = 3});
  fleet.gpus = {{"n1/gpu0"}, {"n1/gpu1"}, {"n2/gpu0"}};
  return fleet;
}

RequestArrived RequestOf(StorageNeed need) {
  RequestArrived request;
  request.storage = need;
  return request;
}

TEST(StorageBooksTest, ReplicasOfANodeShareItsStorage) {
  StorageBooks books;
  books.Configure(FleetOfNodes());
  books.Begin(0, StorageNeed::kHeavy);
  books.Begin(1, StorageNeed::kSome);
  EXPECT_DOUBLE_EQ(books.UnderWay(0), 0.7);
  EXPECT_DOUBLE_EQ(books.UnderWay(1), 0.7);
  EXPECT_DOUBLE_EQ(books.UnderWay(2), 0);
  EXPECT_EQ(books.Requests(books.nodes()[0]), 2);
  books.End(0, StorageNeed::kHeavy);
  EXPECT_DOUBLE_EQ(books.UnderWay(1), 0.2);
}

TEST(StorageBooksTest, TheDeclarationOfTheClientCountsBeforeTheModel) {
  Fleet fleet = FleetOfNodes();
  StorageBooks books;
  books.Configure(fleet);
  EXPECT_EQ(books.NeedOf(RequestOf(StorageNeed::kUnsaid)), StorageNeed::kNone);
  fleet.models[0].storage = true;
  books.Configure(fleet);
  EXPECT_EQ(books.NeedOf(RequestOf(StorageNeed::kUnsaid)), StorageNeed::kSome);
  EXPECT_EQ(books.NeedOf(RequestOf(StorageNeed::kNone)), StorageNeed::kNone);
  EXPECT_EQ(books.NeedOf(RequestOf(StorageNeed::kHeavy)), StorageNeed::kHeavy);
}

TEST(StorageBooksTest, ALargerNeedIsAboutForAMinute) {
  StorageBooks books;
  books.Configure(FleetOfNodes());
  Instant now = Instant::FromSeconds(1);
  EXPECT_FALSE(books.FitOf(RequestOf(StorageNeed::kSome), now).larger_about);
  books.Arrived(RequestOf(StorageNeed::kHeavy), now);
  EXPECT_TRUE(books.FitOf(RequestOf(StorageNeed::kSome), now).larger_about);
  EXPECT_FALSE(books.FitOf(RequestOf(StorageNeed::kHeavy), now).larger_about) << "nothing is larger";
  now = now + StorageBooks::kRemembered + Duration::Seconds(1);
  EXPECT_FALSE(books.FitOf(RequestOf(StorageNeed::kSome), now).larger_about);
}

TEST(StorageBooksTest, AModelLearnsItsNeed) {
  StorageBooks books;
  books.Configure(FleetOfNodes());
  for (int i = 0; i < 16; ++i) books.Learn(ModelId(0), 0, 0);
  for (int i = 0; i < 16; ++i) books.Learn(ModelId(0), 1, 0.9);
  EXPECT_EQ(books.NeedOf(RequestOf(StorageNeed::kUnsaid)), StorageNeed::kSome);
  EXPECT_EQ(books.NeedOf(RequestOf(StorageNeed::kNone)), StorageNeed::kNone);
}

}  // namespace
}  // namespace penstock::testing
