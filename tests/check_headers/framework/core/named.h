#pragma once

[[nodiscard]] KUSARI_API int by_path(int n);
KUSARI_API int by_path(int n);
