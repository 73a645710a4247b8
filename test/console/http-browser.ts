// A client that keeps cookies as a browser does, for pages of the console.

/** One answer, after redirects were followed or not. */
export type ConsoleResponse = { url: string; status: number; headers: Headers; text: string }

export type Browser = ReturnType<typeof newBrowser>

/** A client that keeps cookies as a browser does. */
export function newBrowser(consoleUrl: string) {
  const cookies = new Map<string, string>()
  let token: { of: string | undefined; text: string } = { of: undefined, text: '' }

  async function once(url: string, init: RequestInit = {}): Promise<ConsoleResponse> {
    const headers = new Headers(init.headers)
    headers.set('cookie', [...cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    const answer = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const set of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(set)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return { url, status: answer.status, headers: answer.headers, text: await answer.text() }
  }

  async function follow(path: string, init?: RequestInit): Promise<ConsoleResponse> {
    let answer = await once(new URL(path, consoleUrl).href, init)
    for (;;) {
      const next = answer.headers.get('location')
      if (next === null) return answer
      answer = await once(new URL(next, answer.url).href)
    }
  }

  return {
    cookies,
    /** One request, whose redirect is not followed. */
    get: (path: string, init?: RequestInit) => once(new URL(path, consoleUrl).href, init),
    /** Follows redirects to a page. */
    follow,
    /** Sends a form with the token of a page of this session, unless another is given. */
    async post(path: string, fields: Record<string, string> = {}, init: RequestInit = {}) {
      const session = cookies.get('payweave-console')
      if (session !== token.of) token = { of: session, text: formTokenIn((await follow('/')).text) }
      const body = new URLSearchParams({ form_token: token.text, ...fields })
      return await once(new URL(path, consoleUrl).href, { ...init, method: 'POST', body })
    },
  }
}

/** The token in the forms of a page. */
export function formTokenIn(html: string): string {
  return /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? ''
}
