#pragma once

#include <string>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/tuple_dataset.h"

namespace kusari::datasets {

struct CifarOptions {
  bool with_label = true;        ///< false: examples are images alone
  int ndim = 3;                  ///< shape of an image: 1 (3072), 3 (3, 32, 32) with the channels innermost in memory
  double scale = 1.0;            ///< of the brightest value
  Dtype dtype = Dtype::float32;  ///< uint8: the bytes as they are, 0 .. 255; scale is not used
  std::string root = {};  ///< the folder with the .bin files, or one above; "" looks for them, and downloads them
};

/// Small photos of 10 classes: 50,000 for training and 10,000 for testing, RGB, 32x32, with int32 labels: 0 airplane,
/// 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck.
/// The binary version of cs.toronto.edu/~kriz/cifar.html: data_batch_1.bin .. data_batch_5.bin and test_batch.bin, each
/// gzipped or not, in the folder cifar-10-batches-bin, or cifar-10-binary.tar.gz, are taken from options.root, else
/// from $KUSARI_DATASET_ROOT or ~/.kusari/dataset, else the archive is downloaded there. Throws ValueError for another
/// ndim, IoError when files are missing or damaged. Krizhevsky 2009; chainer.datasets.get_cifar10.
KUSARI_API TrainTest get_cifar10(const CifarOptions& options = {});

/// The same with 100 classes (the fine labels): train.bin and test.bin in the folder cifar-100-binary, or
/// cifar-100-binary.tar.gz. chainer.datasets.get_cifar100.
KUSARI_API TrainTest get_cifar100(const CifarOptions& options = {});

/// The records of one .bin or .bin.gz file, of any number; options.root is not used. Throws as above.
KUSARI_API TupleDataset read_cifar10(const std::string& path, const CifarOptions& options = {});
KUSARI_API TupleDataset read_cifar100(const std::string& path, const CifarOptions& options = {});

}  // namespace kusari::datasets
