#include "kusari/framework/datasets/image/zipped_image_dataset.h"

#include <utility>

#include "kusari/framework/core/error.h"
#include "kusari/framework/datasets/image/list_file.h"
#include "kusari/framework/datasets/reading.h"

namespace kusari::datasets {

using serializers::ZipEntry;
using serializers::ZipReader;

MultiZippedImageDataset::MultiZippedImageDataset(std::vector<Member> members, const ZippedImageDatasetOptions& options,
                                                 Array labels)
    : EncodedImageDataset(static_cast<int64_t>(members.size()),
                          {options.dtype, options.decode, options.skip_broken, options.random_sized_crop},
                          std::move(labels)),
      members_{std::move(members)} {}

MultiZippedImageDataset::MultiZippedImageDataset(const std::vector<std::string>& zipfilenames,
                                                 const ZippedImageDatasetOptions& options)
    : MultiZippedImageDataset(members_of(zipfilenames), options, Array()) {}

std::vector<MultiZippedImageDataset::Member> MultiZippedImageDataset::members_of(
    const std::vector<std::string>& zipfilenames) {
  std::vector<Member> members;
  for (const std::string& name : zipfilenames) {
    const ZipReader zip(name);
    for (const ZipEntry& entry : zip.entries()) {
      if (!entry.name.ends_with('/')) members.push_back({zip, &entry});
    }
  }
  return members;
}

std::string MultiZippedImageDataset::name(int64_t i) const {
  check_index("ZippedImageDataset::name", i, size());
  const Member& member = members_[static_cast<size_t>(i)];
  return member.zip.path() + ": entry '" + member.entry->name + "'";
}

std::span<const uint8_t> MultiZippedImageDataset::load(int64_t i, std::vector<uint8_t>& buffer) const {
  const Member& member = members_[static_cast<size_t>(i)];
  serializers::ZipStream stream = member.zip.open(*member.entry);
  reading("ZippedImageDataset", name(i), [&] { buffer.resize(static_cast<size_t>(stream.remaining())); });
  stream.read(buffer.data(), buffer.size());
  return buffer;
}

struct LabeledZippedImageDataset::Listed {
  Listed(const std::string& zipfilename, const std::string& labelfilename, Dtype label_dtype) {
    const ZipReader zip(zipfilename);
    const std::vector<LabeledPath> pairs = read_labeled_paths("LabeledZippedImageDataset", labelfilename);
    for (const LabeledPath& pair : pairs) {
      const ZipEntry* const entry = zip.find(pair.first);
      if (!entry) {
        throw IoError("LabeledZippedImageDataset: " + zipfilename + " has no entry '" + pair.first +
                      "', which is in the list " + labelfilename);
      }
      members.push_back({zip, entry});
    }
    labels = labels_of(pairs, label_dtype);
  }

  std::vector<Member> members;
  Array labels;
};

LabeledZippedImageDataset::LabeledZippedImageDataset(Listed listed, const ZippedImageDatasetOptions& options)
    : MultiZippedImageDataset(std::move(listed.members), options, std::move(listed.labels)) {}

LabeledZippedImageDataset::LabeledZippedImageDataset(const std::string& zipfilename, const std::string& labelfilename,
                                                     const ZippedImageDatasetOptions& options)
    : LabeledZippedImageDataset(Listed(zipfilename, labelfilename, options.label_dtype), options) {}

}  // namespace kusari::datasets
