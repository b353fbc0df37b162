#include "kusari/framework/training/extensions/report_picture.h"

#include <filesystem>

#include "kusari/framework/core/atomic_file.h"
#include "kusari/framework/datasets/image/save_png.h"
#include "kusari/framework/training/trainer.h"

namespace kusari::training::extensions {
namespace {

/// `text` with each `name` replaced.
std::string with_number(std::string text, const std::string& name, int64_t number) {
  const std::string digits = std::to_string(number);
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + digits.size())) {
    text.replace(at, name.size(), digits);
  }
  return text;
}

}  // namespace

ReportPicture report_picture(std::string title, const Array& image) {
  const int axes = image.ndim();
  std::string png = datasets::encode_png(image);
  return {std::move(title), std::move(png), image.shape(axes - 2), image.shape(axes - 1)};
}

void write_picture(const Trainer& trainer, const std::string& filename, int64_t index, const ReportPicture& picture) {
  if (filename.empty()) return;
  const std::string name =
      with_number(with_number(filename, "{iteration}", trainer.updater().iteration()), "{index}", index);
  write_file_atomically((std::filesystem::path(trainer.out()) / name).string(), picture.png, false);
}

}  // namespace kusari::training::extensions
