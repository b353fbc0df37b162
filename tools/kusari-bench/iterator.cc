#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "kusari/framework/datasets/convert.h"
#include "kusari/framework/datasets/image/class_image_dataset.h"
#include "kusari/framework/datasets/image_converter.h"
#include "kusari/framework/datasets/transform_dataset.h"
#include "kusari/framework/datasets/transforms/compose.h"
#include "kusari/framework/datasets/transforms/flip.h"
#include "kusari/framework/datasets/transforms/random_sized_crop.h"
#include "kusari/framework/datasets/tuple_dataset.h"
#include "kusari/tools/kusari-bench/cases.h"
#include "kusari/tools/kusari-bench/iterator_flow.h"

namespace bench {
namespace {

namespace datasets = kusari::datasets;
namespace transforms = kusari::datasets::transforms;
using datasets::DatasetRef;

constexpr int64_t kSide = 224;

/// The training pipeline of ImageNet: a folder with a folder of photos for each class, or a tar archive of such a
/// folder; 8-bit images of a random part of each. Mirroring is left to the converter where there is one.
DatasetRef open_photos(const Settings& settings) {
  const transforms::RandomSizedCrop crop{kSide};
  datasets::ClassImageDatasetOptions options{.dtype = kusari::Dtype::uint8,
                                             .decode = {.mode = datasets::ImageMode::rgb}};
  if (settings.decode != "whole") options.random_sized_crop = crop;
  if (settings.decode == "reduced") options.decode.min_side = kSide;
  DatasetRef photos = std::filesystem::is_directory(settings.images)
                          ? DatasetRef(datasets::ImageFolderDataset(settings.images, options))
                          : DatasetRef(datasets::TarImageDataset(settings.images, options));
  const bool flip = settings.pixels == "uint8";
  if (settings.decode != "whole") {
    return flip ? datasets::TransformDataset(photos, transforms::on_image(transforms::RandomFlip{})) : photos;
  }
  return flip ? datasets::TransformDataset(photos, transforms::on_image(crop, transforms::RandomFlip{}))
              : datasets::TransformDataset(photos, transforms::on_image(crop));
}

datasets::Converter converter(const Settings& settings) {
  if (settings.pixels == "uint8") {
    return [](std::span<const datasets::Example> batch, const kusari::Device& device) {
      return datasets::concat_examples(batch, device);
    };
  }
  // The usual numbers of ImageNet, for values 0 .. 255.
  return datasets::image_converter(
      {.mean = {123.675, 116.28, 103.53}, .deviation = {58.395, 57.12, 57.375}, .random_flip = true});
}

}  // namespace

void iterator(const Settings& settings) {
  if (!std::filesystem::exists(settings.images)) {
    std::fprintf(stderr, "iterator: skipped, --images '%s' is no folder or tar archive of photos\n",
                 settings.images.c_str());
    return;
  }
  const DatasetRef photos = open_photos(settings);
  const datasets::Converter convert = converter(settings);
  const int64_t batch_size = settings.batch > 0 ? settings.batch : 64;
  for_each_loader(settings, [&](const std::string& kind, int64_t workers) {
    const auto loader = make_iterator(kind, photos, batch_size, workers);
    const Flow flow = sample_flow(settings, [&] {
      const datasets::Example batch = convert(loader->next(), settings.device);
      return batch[0].shape(0);
    });
    loader->finalize();
    report_flow(settings, "iterator." + kind, "images/s", flow,
                ",\"workers\":" + std::to_string(workers) + ",\"batch\":" + std::to_string(batch_size) +
                    ",\"pixels\":\"" + settings.pixels + "\",\"decode\":\"" + settings.decode + "\"");
  });
}

void iterator_overhead(const Settings& settings) {
  constexpr int64_t kExamples = 50000, kBytes = 3072;  // as many and as large as CIFAR-10's
  const DatasetRef examples = std::make_shared<datasets::TupleDataset>(
      kusari::full({kExamples, kBytes}, 7, kusari::Dtype::uint8), kusari::full({kExamples}, 7, kusari::Dtype::int32));
  const int64_t batch_size = settings.batch > 0 ? settings.batch : 256;
  for_each_loader(settings, [&](const std::string& kind, int64_t workers) {
    const auto loader = make_iterator(kind, examples, batch_size, workers);
    const Flow flow = sample_flow(settings, [&] {
      const datasets::Example batch = datasets::concat_examples(loader->next(), settings.device);
      return batch[0].shape(0);
    });
    loader->finalize();
    report_flow(settings, "iterator_overhead." + kind, "examples/s", flow,
                ",\"workers\":" + std::to_string(workers) + ",\"batch\":" + std::to_string(batch_size));
  });
}

}  // namespace bench
