// The setting that announces the sunset of contract versions.
import { type ContractVersion, contractVersions } from '#core/text/contract-version.ts'
import { fail, type Reader } from './values.ts'

/** When a version is deprecated, when it ends, and where both are explained. */
export type VersionNotice = { deprecation: Date; sunset?: Date; link?: string }

/** Notices by version; most have none. */
export type VersionNotices = Partial<Record<ContractVersion, VersionNotice>>

export const versionNotices: Reader<VersionNotices> = {
  of: 'JSON: deprecation, sunset, link by version',
  read(text) {
    const given = Object.entries(recordOf(parseJson(text), 'the value'))
    const notices: VersionNotices = {}
    for (const [name, value] of given) {
      const version = contractVersions.find((known) => known === name)
      if (version === undefined) fail(`versions are ${contractVersions.join(', ')}`)
      else notices[version] = noticeOf(recordOf(value, version), version)
    }
    return notices
  },
}

function noticeOf(fields: Record<string, unknown>, version: string): VersionNotice {
  const { deprecation, sunset, link, ...others } = fields
  if (Object.keys(others).length > 0) fail(`${version} takes deprecation, sunset and link alone`)
  const notice: VersionNotice = { deprecation: momentOf(deprecation, `${version}.deprecation`) }
  if (sunset !== undefined) notice.sunset = momentOf(sunset, `${version}.sunset`)
  if (notice.sunset !== undefined && notice.sunset < notice.deprecation) {
    fail(`${version}.sunset must not be before its deprecation`)
  }
  if (link !== undefined) notice.link = linkOf(link, `${version}.link`)
  return notice
}

function momentOf(value: unknown, name: string): Date {
  const isForm = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(value)
  const moment = new Date(isForm ? value : Number.NaN)
  const isReal =
    !Number.isNaN(moment.getTime()) && `${moment.toISOString().slice(0, 19)}Z` === value
  return isReal ? moment : fail(`${name} must be a time such as 2027-07-01T00:00:00Z`)
}

function linkOf(value: unknown, name: string): string {
  const isLink =
    typeof value === 'string' && /^https:\/\/[\x21\x23-\x3b\x3d\x3f-\x7e]+$/.test(value)
  return isLink ? value : fail(`${name} must be an https URL`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return fail('must be JSON')
  }
}

function recordOf(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  return fail(`${name} must be an object`)
}
