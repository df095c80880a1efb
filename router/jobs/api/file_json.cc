#include "router/jobs/api/file_json.h"

#include "absl/strings/str_cat.h"

namespace penstock::jobs {

std::string FileJson(const StoredFile& file) {
  const std::string expires = file.expires_at ? absl::StrCat(file.expires_at->value()) : std::string("null");
  return absl::StrCat("{\"id\":", JsonQuote(file.id), ",\"object\":\"file\",\"bytes\":", file.bytes.value(),
                      ",\"created_at\":", file.created_at.value(), ",\"expires_at\":", expires,
                      ",\"filename\":", JsonQuote(file.filename), ",\"purpose\":", JsonQuote(file.purpose),
                      ",\"status\":\"processed\",\"status_details\":null}");
}

std::string DeletedFileJson(absl::string_view id) {
  return absl::StrCat("{\"id\":", JsonQuote(id), ",\"object\":\"file\",\"deleted\":true}");
}

}  // namespace penstock::jobs
