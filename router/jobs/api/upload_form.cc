#include "router/jobs/api/upload_form.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock::jobs {
namespace {

constexpr absl::string_view kExpiryFields = "expires_after";
constexpr absl::string_view kAnchorField = "expires_after[anchor]";
constexpr absl::string_view kSecondsField = "expires_after[seconds]";
constexpr int64_t kShortestLife = 3'600;
constexpr int64_t kLongestLife = 2'592'000;

// OpenAI's, without those of its own outputs.
constexpr std::array<absl::string_view, 6> kPurposes = {"assistants", "batch", "fine-tune",
                                                        "vision",     "evals", "user_data"};

ApiError BadForm(absl::string_view fault) {
  return MakeError(ErrorName::kMalformedRequest, absl::StrCat("The body is not multipart/form-data: ", fault, "."));
}

ApiError Missing(absl::string_view field) {
  return MakeError(ErrorName::kMissingField, absl::StrCat("'", field, "' is a required property"), field);
}

}  // namespace

std::optional<ApiError> UploadForm::BeginPart() {
  const FormPart& part = scanner_.part();
  in_file_ = part.name == "file";
  if (!in_file_) {
    if (!fields_.try_emplace(part.name).second) {
      return MakeError(ErrorName::kDuplicateKey, absl::StrCat("The field '", part.name, "' occurs twice."), part.name);
    }
    return std::nullopt;
  }
  if (filename_) return MakeError(ErrorName::kDuplicateKey, "The form has more than one file.", "file");
  filename_ = part.filename.value_or("upload");
  if (filename_->size() > kMaxFilename) {
    return MakeError(ErrorName::kInvalidValue,
                     absl::StrCat("The name of the file is longer than ", kMaxFilename, " bytes."), "file");
  }
  return std::nullopt;
}

std::optional<ApiError> UploadForm::TakeData(std::string* bytes) {
  const absl::string_view data = scanner_.data();
  if (in_file_) {
    bytes->append(data.data(), data.size());
    file_bytes_ += data.size();
    return std::nullopt;
  }
  std::string& field = fields_[scanner_.part().name];
  if (field.size() + data.size() > kMaxField) {
    return MakeError(ErrorName::kInvalidValue, "A field of the form is too long.", scanner_.part().name);
  }
  field.append(data.data(), data.size());
  return std::nullopt;
}

std::optional<ApiError> UploadForm::Take(absl::string_view piece, std::string* bytes) {
  scanner_.Offer(piece);
  while (true) {
    std::optional<ApiError> error;
    switch (scanner_.Next()) {
      case MultipartScanner::Event::kNeedMore:
        return std::nullopt;
      case MultipartScanner::Event::kEnd:
        ended_ = true;
        return std::nullopt;
      case MultipartScanner::Event::kFailed:
        return BadForm(scanner_.fault());
      case MultipartScanner::Event::kPart:
        error = BeginPart();
        break;
      case MultipartScanner::Event::kData:
        error = TakeData(bytes);
        break;
      case MultipartScanner::Event::kPartEnd:
        break;
    }
    if (error) return error;
  }
}

std::variant<std::optional<Duration>, ApiError> UploadForm::ReadExpiry() const {
  const auto strange = std::find_if(fields_.begin(), fields_.end(), [](const auto& field) {
    return absl::StartsWith(field.first, kExpiryFields) && field.first != kAnchorField && field.first != kSecondsField;
  });
  if (strange != fields_.end()) {
    return MakeError(ErrorName::kInvalidValue,
                     absl::StrCat("A form gives expires_after as '", kAnchorField, "' and '", kSecondsField, "'."),
                     strange->first);
  }
  const auto anchor = fields_.find(std::string(kAnchorField)), seconds = fields_.find(std::string(kSecondsField));
  if (anchor == fields_.end() && seconds == fields_.end()) return std::optional<Duration>();
  if (anchor == fields_.end()) return Missing(kAnchorField);
  if (seconds == fields_.end()) return Missing(kSecondsField);
  if (anchor->second != "created_at") {
    return MakeError(ErrorName::kInvalidValue, absl::StrCat("'", kAnchorField, "' must be 'created_at'."),
                     kAnchorField);
  }
  int64_t life = 0;
  if (!absl::SimpleAtoi(seconds->second, &life) || life < kShortestLife || life > kLongestLife) {
    return MakeError(ErrorName::kInvalidValue,
                     absl::StrCat("'", kSecondsField, "' must be between ", kShortestLife, " and ", kLongestLife, "."),
                     kSecondsField);
  }
  return std::optional<Duration>(Duration::Seconds(static_cast<double>(life)));
}

std::variant<FileFacts, ApiError> UploadForm::Finish() const {
  if (!ended_) return BadForm("it ends before its last boundary");
  if (!filename_) return Missing("file");
  const auto purpose = fields_.find("purpose");
  if (purpose == fields_.end()) return Missing("purpose");
  if (std::find(kPurposes.begin(), kPurposes.end(), purpose->second) == kPurposes.end()) {
    return MakeError(ErrorName::kInvalidValue,
                     absl::StrCat("'", absl::string_view(purpose->second).substr(0, 100),
                                  "' is not one of ['assistants', 'batch', 'fine-tune', 'vision', 'evals', "
                                  "'user_data'] - 'purpose'"),
                     "purpose");
  }
  if (file_bytes_ == 0) return MakeError(ErrorName::kInvalidValue, "The file is empty.", "file");
  auto expiry = ReadExpiry();
  if (ApiError* bad = std::get_if<ApiError>(&expiry)) return std::move(*bad);
  return FileFacts{purpose->second, *filename_, std::get<std::optional<Duration>>(expiry)};
}

}  // namespace penstock::jobs
