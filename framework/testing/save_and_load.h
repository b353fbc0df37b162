#pragma once

#include <string>

#include "kusari/framework/core/callable.h"
#include "kusari/framework/core/export.h"
#include "kusari/framework/serializers/hdf5.h"
#include "kusari/framework/serializers/npz.h"

namespace kusari::testing {

/// Calls `use` with the path of a file in a new folder, which is removed afterwards.
KUSARI_API void with_temporary_file(const std::string& name, const Callable<void(const std::string&)>& use);

/// Gives `target` the values of `source` through a file. chainer.testing.save_and_load_npz.
template <class Source, class Target>
void save_and_load_npz(Source& source, Target& target) {
  with_temporary_file("values.npz", [&](const std::string& path) {
    serializers::save_npz(path, source);
    serializers::load_npz(path, target);
  });
}

/// The same through HDF5, where the build has it. chainer.testing.save_and_load_hdf5.
template <class Source, class Target>
void save_and_load_hdf5(Source& source, Target& target) {
  with_temporary_file("values.h5", [&](const std::string& path) {
    serializers::save_hdf5(path, source);
    serializers::load_hdf5(path, target);
  });
}

}  // namespace kusari::testing
