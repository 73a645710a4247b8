// Reads the filters that the merchant lists have in common.
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { parseDateTime } from '#core/text/time.ts'
import { invalidField } from '../../http/validate.ts'

type Given = {
  created_from?: string
  created_to?: string
  limit?: string
}

const timeRule = 'must be a real time YYYY-MM-DD HH:mm:ss in UTC'

/**
 * The window of times, the first one inclusive and the last one exclusive, and the size of a page. Throws
 * INVALID_PARAMETER for a time that is not real, and for a window that ends before it begins.
 */
export function readPage(query: Given) {
  const start = readTime(query.created_from, 'created_from')
  const end = readTime(query.created_to, 'created_to')
  if (start !== undefined && end !== undefined && start > end) {
    throw invalidField('created_from', 'must not be after created_to')
  }
  return {
    ...(start === undefined ? {} : { startTime: timestampFromDate(start) }),
    ...(end === undefined ? {} : { endTime: timestampFromDate(end) }),
    // The services have the default.
    pageSize: Number(query.limit ?? 0),
  }
}

function readTime(text: string | undefined, field: string): Date | undefined {
  if (text === undefined) return undefined
  const time = parseDateTime(text)
  if (time === undefined) throw invalidField(field, timeRule)
  return time
}
