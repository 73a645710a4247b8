// The headers that announce the sunset of a contract version.
import type { VersionNotice } from '#platform/config/values.ts'

/** Headers of the answers of a version: RFC 9745, RFC 8594. Undefined for a version without a notice. */
export function noticeHeaders(
  notice: VersionNotice | undefined,
): Record<string, string> | undefined {
  if (notice === undefined) return undefined
  const { deprecation, sunset, link } = notice
  return {
    deprecation: `@${Math.floor(deprecation.getTime() / 1_000)}`,
    ...(sunset === undefined ? {} : { sunset: sunset.toUTCString() }),
    ...(link === undefined ? {} : { link: `<${link}>; rel="deprecation"; type="text/html"` }),
  }
}
