#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/tuple_dataset.h"

namespace kusari::datasets {

struct MnistOptions {
  bool with_label = true;            ///< false: examples are images alone
  int ndim = 1;                      ///< shape of an image: 1 (784), 2 (28, 28), 3 (1, 28, 28)
  double scale = 1.0;                ///< of the brightest pixel
  bool rgb_format = false;           ///< with ndim 3: the channel three times, (3, 28, 28)
  std::string root = {};             ///< the folder with the four files; "" looks for them, and downloads them
  Dtype dtype = Dtype::float32;      ///< uint8: the bytes as they are, 0 .. 255; scale is not used
  Dtype label_dtype = Dtype::int32;  ///< of the labels
};

/// Handwritten digits: 60,000 training and 10,000 test images, float32 in 0 .. scale, with int32 labels 0 .. 9.
/// The four IDX files of yann.lecun.com/exdb/mnist, gzipped or not, are taken from options.root, else from
/// $KUSARI_DATASET_ROOT/mnist or ~/.kusari/dataset/mnist, else downloaded there.
/// Throws ValueError for another ndim or dtype, IoError when files are missing or damaged. chainer.datasets.get_mnist.
KUSARI_API TrainTest get_mnist(const MnistOptions& options = {});

/// Pictures of clothes in MNIST's format, in the folder fashion-mnist: 0 T-shirt/top, 1 trouser, 2 pullover, 3 dress,
/// 4 coat, 5 sandal, 6 shirt, 7 sneaker, 8 bag, 9 ankle boot. Xiao et al. 2017; chainer.datasets.get_fashion_mnist.
KUSARI_API TrainTest get_fashion_mnist(const MnistOptions& options = {});
/// Their names, in the order of the labels. chainer.datasets.get_fashion_mnist_labels.
KUSARI_API std::vector<std::string> get_fashion_mnist_labels();

/// Cursive Japanese characters in MNIST's format, in the folder kuzushiji-mnist. Clanuwat et al. 2018;
/// chainer.datasets.get_kuzushiji_mnist.
KUSARI_API TrainTest get_kuzushiji_mnist(const MnistOptions& options = {});
/// The characters in the order of the labels: in Latin letters, and themselves in UTF-8.
/// chainer.datasets.get_kuzushiji_mnist_labels.
KUSARI_API std::vector<std::pair<std::string, std::string>> get_kuzushiji_mnist_labels();

}  // namespace kusari::datasets
