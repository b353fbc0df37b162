#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kusari::training::extensions {

/// A picture for reports.
struct ReportPicture {
  std::string title;
  std::string png;  ///< the content of a PNG file
  int64_t height, width;
};

/// What extensions that draw are besides: HtmlReport and TensorBoardReport show what they have drawn last.
class PictureSource {
 public:
  virtual ~PictureSource() = default;
  virtual const std::vector<ReportPicture>& pictures() const noexcept = 0;
  /// How often it has drawn.
  virtual int64_t drawn() const noexcept = 0;
};

}  // namespace kusari::training::extensions
