// Documents that satisfy a JSON schema, as a model with guided decoding writes them. Pure.
#ifndef PENSTOCK_BACKENDS_SIMULATED_SCHEMA_SCHEMA_DOCUMENT_H_
#define PENSTOCK_BACKENDS_SIMULATED_SCHEMA_SCHEMA_DOCUMENT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace penstock::simulated {

// A document, or the reason why there is none.
struct SchemaDocument {
  std::optional<nlohmann::json> value;
  std::string fault;
};

// The document is a pure function of both arguments.
//
// Known: type, enum, const, properties, required, items, prefixItems, uniqueItems, format, the bounds of numbers, texts
// and arrays, multipleOf. Also known: anyOf, oneOf, allOf, and $ref within the schema. A `pattern` is a fault, as is a
// schema without a document of 4,096 values and 24 levels. Keys follow the alphabet.
SchemaDocument WriteSchemaDocument(const nlohmann::json& schema, uint64_t seed);

}  // namespace penstock::simulated

#endif  // PENSTOCK_BACKENDS_SIMULATED_SCHEMA_SCHEMA_DOCUMENT_H_
