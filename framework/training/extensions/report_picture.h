#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"

namespace kusari::training {
class Trainer;
}

namespace kusari::training::extensions {

/// A picture for reports.
struct ReportPicture {
  std::string title;
  std::string png;  ///< the content of a PNG file
  int64_t height, width;
};

/// image: as save_png takes it.
KUSARI_API ReportPicture report_picture(std::string title, const Array& image);
/// Writes the file of that name in the trainer's output directory, "{iteration}" and "{index}" in it replaced by
/// numbers; none if the name is empty. Throws IoError when it cannot be written.
KUSARI_API void write_picture(const Trainer& trainer, const std::string& filename, int64_t index,
                              const ReportPicture& picture);

/// What extensions that draw are besides: HtmlReport and TensorBoardReport show what they have drawn last.
class PictureSource {
 public:
  virtual ~PictureSource() = default;
  virtual const std::vector<ReportPicture>& pictures() const noexcept = 0;
  /// How often it has drawn.
  virtual int64_t drawn() const noexcept = 0;
};

}  // namespace kusari::training::extensions
