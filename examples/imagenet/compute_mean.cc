// Computes the mean image of a data set, which train_imagenet subtracts from its images.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <kusari/kusari.h>

#include "kusari/examples/common/flags.h"
#include "kusari/examples/imagenet/images.h"
#include "kusari/examples/imagenet/loader.h"

using namespace kusari;

namespace {

struct Arguments : Flags {
  std::string dataset =
      text("dataset", "", "Training images: an image-label list file, or a folder or tar of classes", required());
  std::string root = text("-R,--root", ".", "Root directory path of the image files of a list");
  std::string output = text("-o,--output", "mean.npy", "Path of the mean image");
  int64_t size = count("-s,--size", 256, "Side of the mean image; images of another size are scaled and cropped");
  LoaderFlags loader = loader_flags(*this);
};

void compute_mean(const Arguments& args) {
  const Images images = open_images(args.dataset, args.root, args.size);
  const datasets::TransformDataset squares(images.dataset, [&](const datasets::Example& example) {
    return datasets::Example{square(example[0], args.size).contiguous()};
  });
  const auto iterator = make_iterator(args.loader, squares, 64, {.repeat = false, .shuffle = false});
  std::vector<uint64_t> sums(static_cast<size_t>(3 * args.size * args.size), 0);
  int64_t count = 0;
  for (const auto& batch : *iterator) {
    for (const auto& example : batch) {
      const auto* const values = example[0].data<uint8_t>();
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
    }
    count += static_cast<int64_t>(batch.size());
    std::printf("\r%lld / %lld", static_cast<long long>(count), static_cast<long long>(squares.size()));
    std::fflush(stdout);
  }
  std::vector<float> mean(sums.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    mean[i] = static_cast<float>(static_cast<double>(sums[i]) / static_cast<double>(count));
  }
  serializers::save_npy(args.output, array(mean, {3, args.size, args.size}));
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  return run_program<Arguments>(argc, argv, "Compute images mean array", compute_mean);
}
