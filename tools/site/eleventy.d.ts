// The part of Eleventy that the site is built with: the package has no types.
declare module '@11ty/eleventy' {
  /** What a configuration can set. */
  export type EleventyConfig = {
    setUseGitIgnore(isUsed: boolean): void
    setTemplateFormats(formats: string[]): void
    setLibrary(format: string, library: unknown): void
    addFilter(name: string, filter: (value: string) => unknown): void
    /** Adds a page that is not a file; `path` says how it is rendered. */
    addTemplate(path: string, content: string, data: Record<string, unknown>): void
  }
  /** One page as it was built. */
  export type BuiltPage = { url: string; outputPath: string; content: string }
  /** A build of a folder. */
  export class Eleventy {
    constructor(
      input: string,
      output: string,
      options: { quietMode: boolean; configPath: string; config: (config: EleventyConfig) => void },
    )
    /** Builds every page and writes none. */
    toJSON(): Promise<BuiltPage[]>
  }
}
