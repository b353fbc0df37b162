#pragma once

#include <cstdint>

#include "kusari/framework/core/array.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/tuple_dataset.h"

namespace kusari::datasets {

struct MoonsOptions {
  int64_t n = 100;      ///< points; the second class has one more where n is odd
  double noise = 0;     ///< standard deviation of what is added to the coordinates
  bool shuffle = true;  ///< false: the first class, along its half circle, and then the second
  uint64_t seed = 0;
};

/// Two half circles of radius 1 that reach into one another, which no line separates. Returns float32 points (n, 2) and
/// int32 labels: class 0 are (cos(a), sin(a)), class 1 (1 - cos(a), 0.5 - sin(a)), with angles a in equal steps from 0
/// to pi. The same options give the same points. Throws ValueError for a negative n and a noise that is negative or not
/// finite. sklearn.datasets.make_moons (which draws other random numbers).
KUSARI_API TupleDataset make_moons(const MoonsOptions& options = {});

struct BlobsOptions {
  int64_t n = 100;       ///< points, as equally many of each class as can be
  int64_t classes = 3;   ///< ignored where centers are given
  int64_t features = 2;  ///< coordinates of a point; ignored where centers are given
  Array centers = {};    ///< (classes, features); default: drawn, uniform in -box .. box
  double box = 10;       ///< of centers that are drawn
  double deviation = 1;  ///< standard deviation of each coordinate of a class
  bool shuffle = true;   ///< false: one class after the other
  uint64_t seed = 0;
};

/// Clouds of normally distributed points around the centers of their classes. Returns float32 points (n, features) and
/// int32 labels. The same options give the same points. Throws ValueError for a negative n, without a class or a
/// feature, and for a box or deviation that is negative or not finite, TypeError for centers that are not two axes of
/// real numbers. sklearn.datasets.make_blobs (which draws other random numbers).
KUSARI_API TupleDataset make_blobs(const BlobsOptions& options = {});

}  // namespace kusari::datasets
