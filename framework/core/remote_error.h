#pragma once

#include <string>

#include "kusari/framework/core/error.h"

namespace kusari {

/// Another process of a run of several failed, left, or did not come; what() names it.
class KUSARI_API RemoteError : public Error {
 public:
  explicit RemoteError(const std::string& message);
  ~RemoteError() override;
};

}  // namespace kusari
