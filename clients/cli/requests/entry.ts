// Parses a line of the gateway's log as one request and filters it; drops all but the named fields.

/** One request as the gateway has logged it. */
export type RequestEntry = {
  time: string
  request_id: string
  project_id?: string
  method: string
  route: string
  status: number
  reason?: string
  duration_ms?: number
  /** Others of its kind that were left out of the log before it. */
  left_out?: number
}

/** Which requests to show; an undefined field allows any value. */
export type RequestFilter = {
  id?: string | undefined
  project?: string | undefined
  route?: string | undefined
  method?: string | undefined
  /** `404` or `4xx`. */
  status?: string | undefined
  reason?: string | undefined
}

const messages = new Set(['request', 'request refused'])

/** The request in a line of the log; undefined for every other line. */
export function readEntry(line: string): RequestEntry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const fields = JSON.parse(line) as Record<string, unknown>
    if (!messages.has(String(fields['msg'])) || typeof fields['status'] !== 'number')
      return undefined
    const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : undefined)
    const [projectId, reason] = [text('projectId'), text('reason')]
    const { durationMs, leftOut } = fields
    return {
      time: text('time') ?? '',
      request_id: text('requestId') ?? '',
      ...(projectId !== undefined && { project_id: projectId }),
      method: text('method') ?? '-',
      // A request that was refused before routing has no route.
      route: text('route') ?? '-',
      status: fields['status'],
      ...(reason !== undefined && { reason }),
      ...(typeof durationMs === 'number' && { duration_ms: durationMs }),
      ...(typeof leftOut === 'number' && { left_out: leftOut }),
    }
  } catch {
    return undefined
  }
}

/** Whether a request passes the filter. */
export function isWanted(entry: RequestEntry, filter: RequestFilter): boolean {
  const { id, project, route, method, status, reason } = filter
  return (
    (id === undefined || entry.request_id === id) &&
    (project === undefined || entry.project_id === project) &&
    (route === undefined || entry.route.startsWith(route)) &&
    (method === undefined || entry.method === method.toUpperCase()) &&
    (status === undefined || hasStatus(entry.status, status)) &&
    (reason === undefined || entry.reason === reason)
  )
}

function hasStatus(status: number, wanted: string): boolean {
  return wanted.endsWith('xx')
    ? Math.floor(status / 100) === Number(wanted[0])
    : status === Number(wanted)
}
