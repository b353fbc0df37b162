#pragma once

#include <string>
#include <vector>

#include "kusari/framework/core/export.h"
#include "kusari/framework/datasets/detection/bbox_dataset.h"

namespace kusari::datasets {

/// The twenty classes of Pascal VOC, in ChainerCV's order.
KUSARI_API const std::vector<std::string>& voc_bbox_label_names();

struct VOCBboxDatasetOptions {
  std::vector<std::string> names = voc_bbox_label_names();  ///< the class of each label, as annotations spell it
  bool use_difficult = false;                               ///< difficult boxes too
  bool return_difficult = false;                            ///< with the component "difficult", (R) bool
  bool skip_broken = false;  ///< leave out, and count, what is wrong with annotations and images, instead of an error
  DecodeOptions decode = {};
};

/// Images with boxes in Pascal VOC's layout: ImageSets/Main/SPLIT.txt names them, Annotations/NAME.xml has their
/// boxes, JPEGImages/NAME.jpg (or .png) their pixels. The corners, counted from 1, are moved to count from 0; boxes
/// that are empty are left out.
/// root: the folder that has these three, or a tar archive, gzipped or not, in which one folder has them.
/// Components: image, bbox, label, and difficult if asked for. Throws IoError, naming the file and the object, for
/// what cannot be read, classes that options.names lacks, and images that are not there; and where this build lacks
/// pugixml. ValueError for a name that comes twice. chainercv.datasets.VOCBboxDataset.
class KUSARI_API VOCBboxDataset final : public BboxDataset {
 public:
  explicit VOCBboxDataset(const std::string& root, const std::string& split = "train",
                          const VOCBboxDatasetOptions& options = {});
};

}  // namespace kusari::datasets
