#pragma once

#include <optional>
#include <string>

#include "kusari/framework/core/dtype.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/tuple_dataset.h"

namespace kusari::datasets {

struct SvhnOptions {
  bool with_label = true;            ///< false: examples are images alone
  double scale = 1.0;                ///< of the brightest value
  Dtype dtype = Dtype::float32;      ///< uint8: the bytes as they are, 0 .. 255; scale is not used
  Dtype label_dtype = Dtype::int32;  ///< of the labels
  bool add_extra = false;            ///< the easier 531,131 images for training too
  std::string root = {};             ///< the folder with the .mat files; "" looks for them, and downloads them
};

struct SvhnDatasets {
  TupleDataset train;
  TupleDataset test;
  std::optional<TupleDataset> extra;  ///< with add_extra
};

/// Photos of house numbers, cut to one digit: 73,257 for training and 26,032 for testing, RGB, (3, 32, 32) with the
/// channels innermost in memory, with labels 0 .. 9. {train,test,extra}_32x32.mat of ufldl.stanford.edu/housenumbers
/// are taken from options.root, else from the folder svhn below dataset_root(), else downloaded there. Throws
/// ValueError for another dtype, IoError when files are missing or damaged. Netzer et al. 2011;
/// chainer.datasets.get_svhn.
KUSARI_API SvhnDatasets get_svhn(const SvhnOptions& options = {});

/// The images of one such file.
KUSARI_API TupleDataset read_svhn(const std::string& path, const SvhnOptions& options = {});

}  // namespace kusari::datasets
