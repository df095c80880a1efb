#include "backends/simulated/schema/schema_document.h"

#include "gtest/gtest.h"

namespace penstock::simulated {
namespace {

using nlohmann::json;

json Written(const char* schema, uint64_t seed = 1) {
  const SchemaDocument document = WriteSchemaDocument(json::parse(schema), seed);
  EXPECT_TRUE(document.value) << schema << ": " << document.fault;
  return document.value.value_or(json());
}

std::string Fault(const char* schema) {
  const SchemaDocument document = WriteSchemaDocument(json::parse(schema), 1);
  EXPECT_FALSE(document.value) << schema << ": " << document.value->dump();
  return document.fault;
}

TEST(SchemaDocument, RequiredMembersAreThereWithTheirTypes) {
  const char* schema = R"({"type":"object","required":["name","age","tags","open"],"properties":{
      "name":{"type":"string","minLength":3,"maxLength":9},"age":{"type":"integer","minimum":18,"maximum":20},
      "tags":{"type":"array","items":{"enum":["a","b"]},"minItems":2,"maxItems":2,"uniqueItems":true},
      "open":{"type":"boolean"},"note":{"type":["string","null"]}}})";
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const json value = Written(schema, seed);
    EXPECT_GE(value["name"].get<std::string>().size(), 3u);
    EXPECT_LE(value["name"].get<std::string>().size(), 9u);
    EXPECT_GE(value["age"].get<int64_t>(), 18);
    EXPECT_LE(value["age"].get<int64_t>(), 20);
    ASSERT_EQ(value["tags"].size(), 2u);
    EXPECT_NE(value["tags"][0], value["tags"][1]);
    EXPECT_TRUE(value["open"].is_boolean());
    EXPECT_TRUE(!value.contains("note") || value["note"].is_string() || value["note"].is_null());
  }
}

TEST(SchemaDocument, OneSeedHasOneDocumentAndSeedsDiffer) {
  const char* schema = R"({"type":"string"})";
  EXPECT_EQ(Written(schema, 7), Written(schema, 7));
  EXPECT_NE(Written(schema, 7), Written(schema, 8));
}

TEST(SchemaDocument, BoundsOfNumbersHold) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const double open = Written(R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1})", seed).get<double>();
    EXPECT_GT(open, 0);
    EXPECT_LT(open, 1);
    EXPECT_EQ(Written(R"({"type":"integer","multipleOf":7,"minimum":1})", seed).get<int64_t>() % 7, 0);
    EXPECT_GT(Written(R"({"type":"integer","exclusiveMinimum":4})", seed).get<int64_t>(), 4);
    EXPECT_LE(Written(R"({"type":"number","maximum":-3})", seed).get<double>(), -3);
  }
  EXPECT_EQ(Written(R"({"type":"integer","minimum":5,"maximum":5})"), 5);
  EXPECT_NE(Fault(R"({"type":"integer","minimum":5,"maximum":4})").find("no number"), std::string::npos);
}

TEST(SchemaDocument, ReferencesAndAlternativesEndWhereARecursionCan) {
  const char* tree = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["value","next"],
      "properties":{"value":{"const":1},"next":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}}}}})";
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const json value = Written(tree, seed);
    EXPECT_EQ(value["value"], 1);
    EXPECT_TRUE(value["next"].is_null() || value["next"]["value"] == 1);
  }
  const char* endless = R"({"type":"object","required":["next"],"properties":{"next":{"$ref":"#"}}})";
  EXPECT_NE(Fault(endless).find("bounded size"), std::string::npos);
}

TEST(SchemaDocument, AllPartsOfAllOfHold) {
  const json value = Written(R"({"allOf":[{"type":"object","properties":{"a":{"const":1}},"required":["a"]},
      {"properties":{"b":{"const":2}},"required":["b"]}]})");
  EXPECT_EQ(value, json::parse(R"({"a":1,"b":2})"));
}

TEST(SchemaDocument, FormatsHaveTheirShape) {
  EXPECT_EQ(Written(R"({"type":"string","format":"date"})").get<std::string>().size(), 10u);
  EXPECT_EQ(Written(R"({"type":"string","format":"uuid"})").get<std::string>().size(), 36u);
  EXPECT_NE(Written(R"({"type":"string","format":"email"})").get<std::string>().find('@'), std::string::npos);
}

TEST(SchemaDocument, UnplayableSchemasAreNamed) {
  EXPECT_NE(Fault(R"({"type":"string","pattern":"^a+$"})").find("pattern"), std::string::npos);
  EXPECT_NE(Fault(R"({"$ref":"#/$defs/missing"})").find("missing"), std::string::npos);
  EXPECT_NE(Fault(R"({"type":"tuple"})").find("tuple"), std::string::npos);
  EXPECT_NE(Fault(R"({"enum":[]})").find("enum"), std::string::npos);
  EXPECT_NE(Fault("3").find("object"), std::string::npos);
}

// Any JSON may come as a schema: it has a document or a fault, and the work is bounded.
TEST(SchemaDocument, OddSchemasDoNotBreakTheWriter) {
  for (const char* odd : {R"({"properties":3})",
                          R"({"type":"object","required":3})",
                          R"({"type":"array","items":false})",
                          R"({"type":"array","minItems":1e30})",
                          R"({"anyOf":[]})",
                          R"({"anyOf":3})",
                          R"({"allOf":[3]})",
                          R"({"type":[]})",
                          R"({"type":[3]})",
                          R"({"$ref":3})",
                          R"({"$ref":"#/~"})",
                          R"({"$ref":"#"})",
                          R"({"type":"number","multipleOf":0})",
                          R"({"type":"number","minimum":1e308,"multipleOf":1e-300})",
                          R"({"type":"string","minLength":-1})",
                          R"({"type":"string","minLength":5,"maxLength":2})",
                          R"({"type":"array","items":{"$ref":"#"},"minItems":2})",
                          R"({"type":"array","prefixItems":3})",
                          "[]",
                          "null"}) {
    const SchemaDocument document = WriteSchemaDocument(json::parse(odd), 1);
    EXPECT_NE(document.value.has_value(), !document.fault.empty()) << odd;
  }
}

TEST(SchemaDocument, CountsThatNoDocumentHasAreNamed) {
  for (const char* count : {"5000", "1e9", "1e300", "9223372036854775808", "-1", "\"x\""}) {
    Fault((std::string(R"({"type":"array","minItems":)") + count + "}").c_str());
    Fault((std::string(R"({"type":"string","minLength":)") + count + "}").c_str());
  }
  EXPECT_NE(Fault(R"({"type":"string","minLength":6,"maxLength":5})").find("below"), std::string::npos);
  EXPECT_NE(Fault(R"({"type":"object","minProperties":3})").find("minProperties"), std::string::npos);
}

// One choice among very many, or very many names, costs no more than the bound of values.
TEST(SchemaDocument, LongListsEndEarly) {
  json names = json::array();
  for (int i = 0; i < 20'000; ++i) names.push_back("n" + std::to_string(i));
  const json wide = {{"type", "object"}, {"required", names}};
  EXPECT_FALSE(WriteSchemaDocument(wide, 1).value);
  json references = json::array();
  for (int i = 0; i < 100'000; ++i) references.push_back({{"$ref", "#"}});
  const json endless = {{"anyOf", references}};
  EXPECT_FALSE(WriteSchemaDocument(endless, 1).value);
}

}  // namespace
}  // namespace penstock::simulated
