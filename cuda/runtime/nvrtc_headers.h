#pragma once

namespace kusari::cuda {

/// A header that texts compiled by NVRTC may include: its name and its content. Made by the build from the sources.
struct NvrtcHeader {
  const char* name;
  const char* text;
};
extern const NvrtcHeader kNvrtcHeaders[];
extern const int kNvrtcHeaderCount;

}  // namespace kusari::cuda
